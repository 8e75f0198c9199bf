//! The observations of a mover: both states, and the record of its own steps.

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
    pub(super) goal: Goal,
    tries_left: u32,
    /// The phase to which the target is given back if its rows differ: its phase before the first claim. `None` if an
    /// earlier run was filling the target. An open phase is removed after the comparison, because the target then gets
    /// rows of the source.
    pub(super) found: Option<Phase>,
    /// The revision of the target under the mover's claim.
    pub(super) claim: Option<i64>,
    /// The revision that a sent opening of the target expects.
    pub(super) opening: Option<i64>,
    /// The revision of the source under a seal that this mover made or may end. After a seal without an answer, the
    /// revision that the seal expects.
    pub(super) seal: Option<i64>,
    /// The number of rewrites of the source before the last comparison.
    rewrites: i64,
    pub(super) stage: Stage,
    /// `true` if the target had already taken the source's place before the last comparison, but the source was open.
    pub(super) is_behind: bool,
    /// The end of the run once the source is open.
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
        Self { goal, tries_left: tries, ..Self::default() }
    }

    /// Notes that the user asked for a stop.
    pub(crate) fn stop(&mut self) {
        self.ending.get_or_insert(End::Stopped);
    }

    /// Notes the result of a step that `next_step` returned for these observations.
    pub(crate) fn note(&mut self, step: &Step, outcome: Outcome) {
        match (step, outcome) {
            (step, Outcome::Done) => self.note_done(step),
            (_, Outcome::Different) => _ = self.ending.get_or_insert(End::Different),
            (_, Outcome::Failed) => {
                self.ending.get_or_insert(End::Failed);
                self.found = None;
            }
            (step, Outcome::Unanswered) => self.note_unanswered(step),
            (_, Outcome::Fenced) => {}
        }
    }

    /// Notes a lost answer. The work under a seal no longer counts, so the next step opens the source.
    fn note_unanswered(&mut self, step: &Step) {
        self.stage = self.stage.min(Stage::Compared);
        match step {
            Step::Change(Change::Claim, _) => self.claim = None,
            Step::Change(Change::Open, _) => self.opening = self.claim,
            Step::Change(Change::Seal, _) => {
                self.seal = self.source.as_ref().map(|source| source.revision);
            }
            Step::Work(_) => self.stage = Stage::Unknown,
            Step::Change(Change::Reopen | Change::GiveBack, _) | Step::Ask | Step::End(_) => {}
        }
        // The mover asks without a limit while the source is sealed.
        if self.seal.is_none() {
            self.use_up_try(End::Failed);
        }
    }

    fn note_done(&mut self, step: &Step) {
        let source = self.source.as_ref();
        match step {
            Step::Change(Change::Claim, new) => {
                let found = self.target.as_ref().map(|target| target.phase.clone());
                let found = found.filter(|found| !matches!(found, Phase::Filling { .. }));
                self.found = self.found.take().or(found);
                (self.claim, self.opening, self.stage) = (Some(new.revision), None, Stage::Unknown);
                // No opening can follow a seal that is older than this claim, so this mover may end the seal.
                let sealed = source.filter(|source| !source.phase.is_open());
                self.seal = sealed.map(|source| source.revision);
            }
            Step::Change(Change::Reopen, _) => {
                // Services add rows again, so the work under the seal must be repeated.
                self.stage = self.stage.min(Stage::Compared);
                if self.seal.take().is_some() {
                    self.use_up_try(End::Failed);
                }
            }
            Step::Change(Change::GiveBack, _) => self.claim = None,
            Step::Change(Change::Seal, new) => {
                (self.seal, self.stage) = (Some(new.revision), Stage::Ready);
            }
            Step::Change(Change::Open, _) => self.opening = self.claim,
            Step::Work(Work::Compare) => {
                self.rewrites = source.map_or(0, |source| source.rewrites);
                // A seal without an answer can no longer arrive: the source has another revision.
                (self.is_behind, self.seal) = (self.is_handed_over(), None);
                self.found.take_if(|found| found.is_open());
                if self.stage > Stage::Unknown {
                    self.use_up_try(End::Rewritten);
                }
                self.stage = Stage::Compared;
            }
            Step::Work(Work::Follow) => self.stage = Stage::Ready,
            Step::Work(Work::Finish) => self.stage = Stage::Complete,
            Step::Ask | Step::End(_) => {}
        }
    }

    /// Uses up one retry. If no retry is left, the run ends, and does not give the target back.
    fn use_up_try(&mut self, end: End) {
        if let Some(left) = self.tries_left.checked_sub(1) {
            self.tries_left = left;
        } else {
            self.ending.get_or_insert(end);
            self.found = None;
        }
    }

    /// Returns whether the target has taken the source's place.
    pub(crate) fn is_handed_over(&self) -> bool {
        let target = self.target.as_ref();
        target
            .zip(self.source.as_ref())
            .is_some_and(|(target, source)| target.is_successor_of(source))
    }

    /// Returns whether the target must be empty: it is or was a store of its own, not filled by a mover.
    pub(crate) fn must_be_empty(&self) -> bool {
        let phase = self.target.as_ref().map(|target| &target.phase);
        self.found.as_ref().or(phase).is_some_and(Phase::is_open)
    }

    /// Returns whether the source has a seal that this mover made or may end, or may still receive this mover's seal.
    pub(super) fn seals(&self, source: &StoreState) -> bool {
        self.seal == Some(source.revision)
    }

    /// Returns whether animals of the source were changed by SQL or an import since the comparison.
    pub(super) fn is_rewritten(&self, source: &StoreState) -> bool {
        self.stage > Stage::Unknown && self.rewrites != source.rewrites
    }
}
