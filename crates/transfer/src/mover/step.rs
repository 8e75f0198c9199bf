//! The steps of a mover, and their results.

use petstore_domain::StoreState;

/// The next step of a mover.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Replaces the state of a store, if its revision is still as it was observed.
    Change(Change, StoreState),
    /// Compares or copies rows.
    Work(Work),
    /// Observes again after a short pause: a state must be known first.
    Ask,
    /// Begins anew after a pause.
    Retry,
    /// Ends the run.
    End(End),
}

/// A change of a state: of the target, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// Lets only this mover write.
    Claim,
    /// Seals the source.
    Seal,
    /// Opens the target.
    Open,
    /// Opens the source.
    Reopen,
    /// Gives back the target as it was found.
    GiveBack,
}

impl Change {
    /// Returns whether the state of the source changes.
    pub(crate) const fn is_of_source(self) -> bool {
        matches!(self, Self::Seal | Self::Reopen)
    }
}

/// Work on the rows of both stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Compares everything that the target holds with the source.
    Compare {
        /// The target must be empty.
        empty: bool,
    },
    /// Copies and compares in passes, until little is left.
    Follow,
    /// Copies and compares the rest, while the source is sealed.
    Finish,
    /// Compares everything that the source holds with the target, which has taken its place already.
    CompareBehind,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// The target is open in the source's place.
    HandedOver,
    /// So it was before; the source had forgotten its seal and has it again.
    SealedAgain,
    /// The handover is canceled: the source is open.
    Canceled,
    /// The user asked for a stop.
    Stopped,
    /// Both stores have one identity.
    SameStore,
    /// The phase of the source does not allow a handover.
    RefusedSource,
    /// The phase of the target does not allow a handover.
    RefusedTarget,
    /// The target has been handed the source's place already, so there is nothing to cancel.
    TooLate,
    /// The target holds other rows.
    Different,
    /// Another command has changed a state meanwhile.
    Overtaken,
    /// A call has failed, for good or too often.
    Failed,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// A change: the store has answered whether it replaced the state.
    Changed(bool),
    /// A change: there was no answer, so the state may still be replaced at any time.
    Unanswered,
    /// The work is done.
    Done,
    /// The rows differ.
    Different,
    /// The target refuses the mover's rows: somebody else has claimed it.
    Fenced,
    /// The work took longer than writes may wait.
    Late,
    /// The call has failed without an effect, and may succeed later.
    FailedForNow,
    /// The call has failed without an effect, and will fail again.
    Failed,
}
