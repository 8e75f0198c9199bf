//! The observations of a mover: both states, and the record of its own requests.

use petstore_domain::{Phase, StoreState};

use crate::mover::step::{Change, End, Outcome, Step, Work};

/// The purpose of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Goal {
    /// The target takes the source's place.
    #[default]
    HandOver,
    /// The source is open, and nothing fills the target.
    Cancel,
}

/// Everything that the next step depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Observed {
    /// The state of the source; `None` if it could not be read. Read before the target, so that a seal by another mover
    /// is never seen without that mover's claim.
    pub(crate) source: Option<StoreState>,
    /// The state of the target; `None` if it could not be read.
    pub(crate) target: Option<StoreState>,
    /// `true` if writes have waited for the longest permitted time.
    pub(crate) is_late: bool,
    /// The record of the mover's own requests.
    pub(crate) own: Own,
}

/// The record of a mover's own requests and their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Own {
    pub(super) goal: Goal,
    /// The number of times that the mover may still give the target back.
    pub(super) tries_left: u32,
    /// The phase of the target before the first claim, while the target still holds only its own rows.
    pub(super) found: Option<Phase>,
    /// The revision of the target under the mover's claim.
    pub(super) claim: Option<i64>,
    /// The revision that a sent opening of the target expects.
    pub(super) opening: Option<i64>,
    /// The revision of the source under the mover's seal.
    pub(super) seal: Option<i64>,
    /// The revision that a seal without an answer expects of the source.
    pub(super) sealing: Option<i64>,
    /// The rewrites of the source before the first comparison.
    pub(super) rewrites: i64,
    pub(super) stage: Stage,
    /// `true` if the target has taken the source's place, but the source is open and the target holds all of its rows.
    pub(super) is_behind: bool,
    /// The reason why the attempt must end once the source is open.
    pub(super) ending: Option<End>,
}

/// The verified progress of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stage {
    /// The target was not compared yet.
    #[default]
    Unknown,
    /// The target holds only rows of the source.
    Compared,
    /// All rows except the latest were copied and compared.
    Ready,
    /// Every row was copied and compared, while the source was sealed.
    Complete,
}

impl Observed {
    /// Creates the observations of a new attempt, which gives the target back at most `tries` times.
    pub(crate) fn new(goal: Goal, tries: u32) -> Self {
        let own = Own { goal, tries_left: tries, ..Own::default() };
        Self { own, ..Self::default() }
    }

    /// Notes that the user asked for a stop.
    pub(crate) fn stop(&mut self) {
        self.own.ending.get_or_insert(End::Stopped);
    }

    /// Returns whether animals of the source were changed by SQL or an import since the comparison.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.source.as_ref().is_some_and(|source| self.own.is_rewritten(source))
    }

    /// Notes the result of a step that `next_step` returned for these observations. Returns whether both states must be
    /// read before the next step. After a seal, the states are not read again, because writes wait.
    pub(crate) fn note(&mut self, step: &Step, outcome: Outcome) -> bool {
        let (source, own) = (self.source.as_ref(), &mut self.own);
        match (step, outcome) {
            (Step::Change(Change::Seal, sealed), Outcome::Done) => {
                (own.seal, own.sealing) = (Some(sealed.revision), None);
                self.source = Some(sealed.clone());
                return false;
            }
            (Step::Change(Change::Claim, claim), Outcome::Done) => {
                own.found = own.found.take().or(self.target.take().map(|target| target.phase));
                (own.claim, own.opening) = (Some(claim.revision), None);
            }
            (Step::Change(Change::Reopen, _), Outcome::Done) => {
                if own.seal.is_some() || own.sealing.is_some() {
                    own.ending.get_or_insert(End::Retry);
                }
                (own.seal, own.sealing, own.opening) = (None, None, None);
            }
            (Step::Change(Change::GiveBack, _), Outcome::Done) => own.claim = None,
            (Step::Change(Change::Open, _), Outcome::Done) => own.opening = own.claim,
            (Step::Change(change, _), Outcome::Unanswered) => {
                own.ending.get_or_insert(End::Retry);
                match change {
                    Change::Claim => own.claim = None,
                    Change::Open => own.opening = self.target.as_ref().map(|state| state.revision),
                    Change::Seal => own.sealing = source.map(|state| state.revision),
                    Change::Reopen => {}
                    Change::GiveBack => {
                        own.tries_left = own.tries_left.saturating_sub(1);
                        own.found.take_if(|_| own.tries_left == 0);
                    }
                }
            }
            (Step::Work(Work::Compare { .. }), Outcome::Done) => {
                own.stage = Stage::Compared;
                own.rewrites = source.map_or(0, |source| source.rewrites);
                own.found.take_if(|found| found.is_open());
            }
            (Step::Work(Work::Follow), Outcome::Done) => own.stage = Stage::Ready,
            (Step::Work(Work::CompareBehind), Outcome::Done) if !own.is_behind => {
                own.is_behind = true;
            }
            (Step::Work(_), Outcome::Done) => own.stage = Stage::Complete,
            (step, Outcome::Failed(end)) => {
                own.ending.get_or_insert(end);
                own.found.take_if(|_| matches!(step, Step::Change(Change::GiveBack, _)));
            }
            _ => {}
        }
        true
    }
}

impl Own {
    /// Returns whether the source has this mover's seal, or may still receive it.
    pub(super) fn seals(&self, source: &StoreState) -> bool {
        [self.seal, self.sealing].contains(&Some(source.revision))
    }

    pub(super) fn is_rewritten(&self, source: &StoreState) -> bool {
        self.stage > Stage::Unknown && self.rewrites != source.rewrites
    }
}
