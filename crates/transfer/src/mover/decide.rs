//! The next step of a mover, as a pure function of its observations. `mover/tests.rs` explores every interleaving.
//!
//! - After a lost answer, the mover raises the revision, so that the lost request fails if it arrives late.
//! - The mover opens the target only under its own claim, while the source has its own seal.
//! - The mover opens the source only if no opening of the target can still arrive under the present claim.

use petstore_domain::{Phase, StoreState};

use crate::mover::{
    observed::{Goal, Observed, Own, Stage},
    step::{Change, End, Step, Work},
};

/// Returns the next step of a mover with these observations. The mover adds the labels.
pub(crate) fn next_step(seen: &Observed) -> Step {
    let own = &seen.own;
    let (source, target) = match (&seen.source, &seen.target) {
        (Some(source), Some(target)) => (source, target),
        // No opening was sent under the claim, so the source can be opened without reading the target.
        (Some(source), None) if own.seals(source) && own.opening.is_none() => {
            return reopen(own, source, None);
        }
        // Ending here would leave the source sealed.
        _ if own.seal.is_some() || own.sealing.is_some() => return Step::Ask,
        _ if own.tries_left == 0 => return Step::End(own.ending.unwrap_or(End::Failed)),
        _ => return own.ending.map_or(Step::Retry, Step::End),
    };
    if source.id == target.id {
        return Step::End(End::SameStore);
    }
    if target.is_successor_of(source) {
        return behind(seen, source, target);
    }
    if source.phase.is_open() && is_sealed_to(target, source) && !source.is_successor_of(target) {
        // A service that starts with the target would not find the source.
        return reopen(own, source, Some(target));
    }
    if own.goal == Goal::Cancel {
        return cancel(seen, source, target);
    }
    if own.opening == Some(target.revision) {
        return claim(source, target);
    }
    // From here on, no opening by this mover can arrive.
    let is_filling = target.phase == Phase::Filling { from: source.id };
    let holds = is_filling && own.claim == Some(target.revision);
    let (seals, is_sealed) = (own.seals(source), is_sealed_to(source, target));
    let leaves = !holds || own.ending.is_some() || own.retreats || seen.is_late;
    // A seal without an answer arrived after the filling had been canceled.
    let is_left =
        is_sealed && own.sealing.is_some() && !matches!(target.phase, Phase::Filling { .. });
    if seals && (leaves || own.is_rewritten(source) || !is_sealed)
        || holds && is_sealed && !seals
        || is_left
    {
        return reopen(own, source, Some(target));
    }
    if holds {
        fill(seen, source, target, seals)
    } else if own.claim.is_some() {
        // Another mover fills the target, and caused the difference.
        let ending = own.ending.filter(|end| !(is_filling && *end == End::Different));
        Step::End(ending.unwrap_or(End::Overtaken))
    } else {
        begin(own, source, target)
    }
}

/// Returns the step of a mover that has not claimed the target yet.
fn begin(own: &Own, source: &StoreState, target: &StoreState) -> Step {
    let is_sealed = is_sealed_to(source, target);
    if !is_sealed && let Some(step) = own.end_or_retry() {
        return step;
    }
    match (&source.phase, &target.phase) {
        (phase, _) if !is_sealed && !phase.is_open() => Step::End(End::RefusedSource),
        (_, Phase::Filling { from: other } | Phase::Sealed { to: other, .. })
            if *other != source.id =>
        {
            Step::End(End::RefusedTarget)
        }
        _ => claim(source, target),
    }
}

/// Returns the step of a mover that holds the claim of the target. `seals` is `true` if the source has this mover's
/// seal.
fn fill(seen: &Observed, source: &StoreState, target: &StoreState, seals: bool) -> Step {
    let own = &seen.own;
    if let (Some(End::Different), Some(Phase::Open { .. } | Phase::Sealed { .. })) =
        (own.ending, &own.found)
        && let Some(phase) = own.found.clone()
    {
        return give_back(own, source, target, phase);
    }
    if let Some(step) = own.end_or_retry() {
        return step;
    }
    if !seals && !source.phase.is_open() {
        return Step::End(End::RefusedSource);
    }
    match own.stage {
        Stage::Complete if seals => {
            let phase = Phase::Open { from: Some(source.id) };
            Step::Change(Change::Open, above(target, source.revision, phase))
        }
        _ if seals => Step::Work(Work::Finish),
        Stage::Unknown => {
            Step::Work(Work::Compare { empty: own.found.as_ref().is_some_and(Phase::is_open) })
        }
        _ if own.is_rewritten(source) && own.tries_left == 0 => Step::End(End::Failed),
        _ if own.is_rewritten(source) => Step::Work(Work::Compare { empty: false }),
        Stage::Compared => Step::Work(Work::Follow),
        Stage::Ready | Stage::Complete => seal(source, target),
    }
}

/// Returns the step of a mover whose target is open in the source's place.
fn behind(seen: &Observed, source: &StoreState, target: &StoreState) -> Step {
    let own = &seen.own;
    // This mover saw the source open after the target, so a seal without an answer is its own.
    let (sealed, sealing) =
        (own.seal == Some(source.revision), own.sealing == Some(source.revision - 1));
    match &source.phase {
        _ if own.goal == Goal::Cancel => Step::End(End::TooLate),
        Phase::Open { .. } if own.sealing == Some(source.revision) => reopen(own, source, None),
        Phase::Open { .. } => match own.end_or_retry() {
            Some(step) => step,
            None if own.is_behind => seal(source, target),
            None => Step::Work(Work::CompareBehind),
        },
        Phase::Sealed { to, .. } if *to != target.id => Step::End(End::RefusedSource),
        Phase::Sealed { .. } if !(own.is_behind && (sealed || sealing)) => {
            Step::End(End::HandedOver)
        }
        Phase::Sealed { .. } if own.ending.is_some() || own.retreats => reopen(own, source, None),
        Phase::Sealed { .. } if own.stage == Stage::Complete => Step::End(End::SealedAgain),
        Phase::Sealed { .. } => Step::Work(Work::CompareBehind),
        Phase::Filling { .. } => Step::End(End::RefusedSource),
    }
}

/// Ends the filling of the target, and then opens the source.
fn cancel(seen: &Observed, source: &StoreState, target: &StoreState) -> Step {
    let own = &seen.own;
    if target.phase == (Phase::Filling { from: source.id }) {
        let phase = Phase::Sealed { to: source.id, label: String::new() };
        let step = give_back(own, source, target, phase);
        // A run that ends may have sent the give-back already, while the source was sealed.
        let must_raise = matches!(step, Step::Change(Change::Reopen, _));
        return own.end_or_retry().filter(|_| !must_raise).unwrap_or(step);
    }
    match &source.phase {
        Phase::Open { .. } => Step::End(End::Canceled),
        Phase::Sealed { to, .. } if *to == target.id => reopen(own, source, Some(target)),
        Phase::Filling { .. } | Phase::Sealed { .. } => Step::End(End::RefusedSource),
    }
}

fn is_sealed_to(source: &StoreState, target: &StoreState) -> bool {
    matches!(&source.phase, Phase::Sealed { to, .. } if *to == target.id)
}

fn claim(source: &StoreState, target: &StoreState) -> Step {
    let phase = Phase::Filling { from: source.id };
    Step::Change(Change::Claim, above(target, source.revision, phase))
}

fn seal(source: &StoreState, target: &StoreState) -> Step {
    let phase = Phase::Sealed { to: target.id, label: String::new() };
    Step::Change(Change::Seal, source.next(phase))
}

/// Gives the target back. First raises the revision of an open source above the next revision of the target. Services
/// that start with the target then use the source, even if the give-back arrives late.
fn give_back(own: &Own, source: &StoreState, target: &StoreState, phase: Phase) -> Step {
    let (seals, back) = (matches!(phase, Phase::Sealed { .. }), target.next(phase));
    if seals && source.phase.is_open() && !source.is_successor_of(&back) {
        return reopen(own, source, Some(target));
    }
    Step::Change(Change::GiveBack, back)
}

/// Opens the source under a higher revision than the target has now or after a give-back. If the target has taken the
/// source's place, the source is opened as a separate store, which services of the target do not use.
fn reopen(own: &Own, source: &StoreState, target: Option<&StoreState>) -> Step {
    let from = match (&source.phase, target) {
        _ if own.is_behind => None,
        (_, Some(target)) => Some(target.id),
        (Phase::Sealed { to, .. }, None) => Some(*to),
        (Phase::Open { from }, None) => *from,
        (Phase::Filling { .. }, None) => None,
    };
    let theirs = target.map_or(0, |target| target.revision);
    Step::Change(Change::Reopen, above(source, theirs + 1, Phase::Open { from }))
}

/// Returns the next state of a store, with a higher revision than `other`.
fn above(state: &StoreState, other: i64, phase: Phase) -> StoreState {
    StoreState { revision: state.revision.max(other) + 1, phase, ..state.clone() }
}
