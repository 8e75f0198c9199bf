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
    /// The number of retries left.
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
    /// `true` if the mover pauses and retries, because a call failed or took too long.
    pub(super) retreats: bool,
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
    /// Creates the observations of a new run with at most `tries` retries.
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
        if let (Step::Change(Change::Seal, sealed), Outcome::Changed(true)) = (step, outcome) {
            self.own.changed(Change::Seal, sealed.revision, None);
            self.source = Some(sealed.clone());
            return false;
        }
        let source = self.source.as_ref();
        let own = &mut self.own;
        match (step, outcome) {
            (Step::Change(change, state), Outcome::Changed(true)) => {
                own.changed(*change, state.revision, self.target.as_ref());
            }
            (Step::Change(change, _), Outcome::Unanswered) => {
                own.retreats = true;
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
            (Step::Work(work), Outcome::Done) => match work {
                Work::Compare { .. } => {
                    // A second comparison is a retry after a rewrite of the source.
                    own.tries_left -= u32::from(own.stage > Stage::Unknown);
                    own.stage = Stage::Compared;
                    own.rewrites = source.map_or(0, |source| source.rewrites);
                    own.found.take_if(|found| found.is_open());
                }
                Work::Follow => own.stage = Stage::Ready,
                Work::CompareBehind if source.is_some_and(|source| source.phase.is_open()) => {
                    own.is_behind = true;
                }
                Work::Finish | Work::CompareBehind => own.stage = Stage::Complete,
            },
            (Step::Retry, _) => {
                (own.retreats, own.tries_left) = (false, own.tries_left.saturating_sub(1));
            }
            (_, Outcome::Different) => _ = own.ending.get_or_insert(End::Different),
            (Step::Change(Change::GiveBack, _), Outcome::Failed) => own.found = None,
            (_, Outcome::Failed) => _ = own.ending.get_or_insert(End::Failed),
            (_, Outcome::Late) => own.retreats = true,
            (_, Outcome::FailedForNow) => (own.retreats, own.stage) = (true, Stage::Unknown),
            _ => {}
        }
        true
    }
}

impl Own {
    fn changed(&mut self, change: Change, revision: i64, before: Option<&StoreState>) {
        match change {
            Change::Claim => {
                if self.claim.is_none() && self.found.is_none() {
                    self.found = before.map(|target| target.phase.clone());
                }
                if self.claim.is_some() && self.opening.is_none() {
                    // Another command had claimed the target, so this claim only serves to end a seal.
                    self.ending.get_or_insert(End::Overtaken);
                    self.tries_left = self.tries_left.saturating_sub(1);
                }
                (self.claim, self.opening, self.stage) = (Some(revision), None, Stage::Unknown);
            }
            Change::Seal => {
                // The work under an earlier seal does not count.
                (self.seal, self.sealing) = (Some(revision), None);
                self.stage = self.stage.min(Stage::Ready);
            }
            Change::Reopen => {
                // Services add rows again, so the work under the seal must be repeated.
                self.retreats |= self.seal.is_some() || self.sealing.is_some();
                (self.seal, self.sealing, self.opening) = (None, None, None);
                self.stage = self.stage.min(Stage::Compared);
            }
            Change::GiveBack => self.claim = None,
            Change::Open => self.opening = self.claim,
        }
    }

    /// Returns whether the source has this mover's seal, or may still receive it.
    pub(super) fn seals(&self, source: &StoreState) -> bool {
        [self.seal, self.sealing].contains(&Some(source.revision))
    }

    pub(super) fn is_rewritten(&self, source: &StoreState) -> bool {
        self.stage > Stage::Unknown && self.rewrites != source.rewrites
    }

    pub(super) fn end_or_retry(&self) -> Option<Step> {
        match self.ending {
            Some(end) => Some(Step::End(end)),
            None if !self.retreats => None,
            None if self.tries_left == 0 => Some(Step::End(End::Failed)),
            None => Some(Step::Retry),
        }
    }
}
