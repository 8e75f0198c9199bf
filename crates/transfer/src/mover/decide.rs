//! The next step of a mover, as a pure function of its observations. `mover/tests.rs` explores every interleaving.
//!
//! - After a lost answer, the mover raises the revision, so that the lost request fails if it arrives late.
//! - The mover opens the target only under its own claim, while the source has its own seal.
//! - The mover opens the source only if no opening of the target can still arrive under the present claim.

use petstore_domain::{Phase, StoreState};

use crate::mover::{
    observed::{Goal, Observed, Stage},
    step::{Change, End, Step, Work},
};

/// Returns the next step of a mover with these observations. The mover fills in the label of
/// a sealed phase.
pub(crate) fn next_step(seen: &Observed) -> Step {
    let (source, target) = match (&seen.source, &seen.target) {
        (Some(source), Some(target)) => (source, target),
        // No opening was sent under the claim, so the source can be opened without reading the target.
        (Some(source), None) if seen.seals(source) && seen.opening.is_none() => {
            return reopen(seen, source, None);
        }
        // Ending under a seal would leave the source sealed.
        _ => return seen.ending.filter(|_| seen.seal.is_none()).map_or(Step::Ask, Step::End),
    };
    let is_behind = target.is_successor_of(source);
    if source.id == target.id {
        Step::End(End::SameStore)
    } else if is_behind && seen.goal == Goal::Cancel {
        Step::End(End::TooLate)
    } else if is_behind && is_sealed_to(source, target) && !(seen.is_behind && seen.seal.is_some())
    {
        Step::End(End::HandedOver)
    } else if seen.opening == Some(target.revision) {
        claim(source, target)
    } else {
        hand_over(seen, source, target)
    }
}

/// Returns the step of a mover that sent no opening of the target, or whose opening can no longer arrive. A target that
/// has taken the source's place needs no claim.
fn hand_over(seen: &Observed, source: &StoreState, target: &StoreState) -> Step {
    let is_filling = target.phase == Phase::Filling { from: source.id };
    let has_claim = is_filling && seen.claim == Some(target.revision);
    let holds = has_claim || target.is_successor_of(source);
    let is_sealed = is_sealed_to(source, target);
    let cancels = seen.goal == Goal::Cancel;
    // A seal without an answer may have arrived after the filling was canceled, or after another mover had ended. Under a
    // higher revision, the source has the seal of another mover.
    let may_seal = is_sealed && (cancels || seen.seal.is_some_and(|at| source.revision <= at + 1));
    let must_reopen = if seen.seals(source) {
        let may_end = seen.ending.is_some() || seen.is_late || seen.is_rewritten(source);
        !is_sealed || !holds || may_end || cancels || seen.stage < Stage::Ready
    } else if source.phase.is_open() {
        // A service that starts with the target switches to the source only if the source is the target's successor.
        is_sealed_to(target, source) && !source.is_successor_of(target)
    } else {
        is_sealed && holds || may_seal && !is_filling
    };
    if must_reopen {
        reopen(seen, source, Some(target))
    } else if cancels && is_filling && source.phase.is_open() && seen.ending.is_none() {
        // The source is open under a claim that fences the opening of another mover. So services use the source, even if
        // the give-back arrives late.
        give_back(seen, source, target, Phase::Sealed { to: source.id, label: String::new() })
    } else if holds {
        fill(seen, source, target)
    } else if seen.claim.is_some() && !may_seal && !cancels {
        // If another mover fills the target, that mover caused the difference.
        let ending = seen.ending.filter(|end| !(is_filling && *end == End::Different));
        Step::End(ending.unwrap_or(End::Overtaken))
    } else if !is_sealed && !source.phase.is_open() {
        Step::End(End::RefusedSource)
    } else if !is_sealed && let Some(end) = seen.ending.or(cancels.then_some(End::Canceled)) {
        Step::End(end)
    } else if !target.phase.is_open() && target.phase.parts().1 != Some(source.id) {
        Step::End(End::RefusedTarget)
    } else if source.phase.is_open() && target.phase == (Phase::Open { from: Some(source.id) }) {
        // The target has taken the source's place before, and may be in use.
        Step::End(End::UsedTarget)
    } else {
        claim(source, target)
    }
}

/// Returns the step of a mover that holds the claim of the target, or whose target has taken the source's place.
fn fill(seen: &Observed, source: &StoreState, target: &StoreState) -> Step {
    let (seals, is_behind) = (seen.seals(source), target.phase.is_open());
    if let Some(end) = seen.ending {
        return match &seen.found {
            Some(phase) if end == End::Different && !is_behind => {
                give_back(seen, source, target, phase.clone())
            }
            _ => Step::End(end),
        };
    }
    match seen.stage {
        _ if !seals && !source.phase.is_open() => Step::End(End::RefusedSource),
        Stage::Complete if seals && is_behind => Step::End(End::SealedAgain),
        Stage::Complete if seals => {
            let phase = Phase::Open { from: Some(source.id) };
            Step::Change(Change::Open, above(target, source.revision, phase))
        }
        _ if seals => Step::Work(Work::Finish),
        stage if stage == Stage::Unknown || seen.is_rewritten(source) => Step::Work(Work::Compare),
        Stage::Unknown | Stage::Compared if !is_behind => Step::Work(Work::Follow),
        Stage::Unknown | Stage::Compared | Stage::Ready | Stage::Complete => {
            let phase = Phase::Sealed { to: target.id, label: String::new() };
            Step::Change(Change::Seal, source.next(phase))
        }
    }
}

/// Returns whether `source` was sealed for `target`.
pub(crate) fn is_sealed_to(source: &StoreState, target: &StoreState) -> bool {
    matches!(&source.phase, Phase::Sealed { to, .. } if *to == target.id)
}

fn claim(source: &StoreState, target: &StoreState) -> Step {
    let phase = Phase::Filling { from: source.id };
    Step::Change(Change::Claim, target.next(phase))
}

/// Gives the target back. If the target was handed over to the source, first raises the revision of an open source above
/// the next revision of the target. Services that start with the target then use the source, even if the give-back
/// arrives late, and even if the target had lost its seal.
fn give_back(seen: &Observed, source: &StoreState, target: &StoreState, phase: Phase) -> Step {
    let was_handed_over = matches!(phase, Phase::Sealed { .. })
        || source.phase == Phase::Open { from: Some(target.id) };
    let back = target.next(phase);
    if was_handed_over && source.phase.is_open() && !source.is_successor_of(&back) {
        return reopen(seen, source, Some(target));
    }
    Step::Change(Change::GiveBack, back)
}

/// Opens the source under a higher revision than the target has now or after a give-back. If the target has taken the
/// source's place, the source is opened as a separate store, which services of the target do not use.
fn reopen(seen: &Observed, source: &StoreState, target: Option<&StoreState>) -> Step {
    let (from, revision) = match target {
        _ if seen.is_behind => (None, 0),
        Some(target) => (Some(target.id), target.revision),
        None => (source.phase.parts().1, 0),
    };
    Step::Change(Change::Reopen, above(source, revision + 1, Phase::Open { from }))
}

/// Returns the next state of a store, with a higher revision than `other`.
fn above(state: &StoreState, other: i64, phase: Phase) -> StoreState {
    StoreState { revision: state.revision.max(other) + 1, phase, ..state.clone() }
}
