//! The steps of a mover, and their results.

use petstore_domain::StoreState;

/// The next step of a mover.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Replaces the state of a store if its revision is still the observed one.
    Change(Change, StoreState),
    /// Compares or copies rows.
    Work(Work),
    /// Reads both states again after a pause.
    Ask,
    /// Ends the run.
    End(End),
}

/// A change of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// Marks the target as being filled by this mover alone.
    Claim,
    /// Seals the source.
    Seal,
    /// Opens the target.
    Open,
    /// Opens the source.
    Reopen,
    /// Returns the target to the phase in which it was found.
    GiveBack,
}

impl Change {
    /// Returns whether the change is to the state of the source, not of the target.
    pub(crate) const fn is_of_source(self) -> bool {
        matches!(self, Self::Seal | Self::Reopen)
    }
}

/// Work on the rows of both stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Compares everything that the target holds with the source. If the target has taken the source's place, compares
    /// everything that the source holds with the target.
    Compare,
    /// Copies and compares in passes, until little is left.
    Follow,
    /// Copies and compares the rest, while the source is sealed. Copies nothing into a target that has taken the source's
    /// place.
    Finish,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// The target is open in the source's place.
    HandedOver,
    /// The target was open before; the source had lost its seal and is sealed again.
    SealedAgain,
    /// The handover is canceled: the source is open.
    Canceled,
    /// The user asked for a stop.
    Stopped,
    /// Both stores have the same identity.
    SameStore,
    /// The phase of the source does not allow a handover.
    RefusedSource,
    /// The phase of the target does not allow a handover.
    RefusedTarget,
    /// The target has taken the source's place before, and may be in use.
    UsedTarget,
    /// The target has already replaced the source, so there is nothing to cancel.
    TooLate,
    /// The target holds other rows.
    Different,
    /// Animals of the source were changed too often.
    Rewritten,
    /// Another command changed a state during the run.
    Overtaken,
    /// A call has failed permanently or too often.
    Failed,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// The state was replaced, or the work is done.
    Done,
    /// The store refused the step because the state of the store has changed, or the time limit of the step has passed.
    Fenced,
    /// The call failed or had no answer: it may still take effect at any time.
    Unanswered,
    /// The rows differ.
    Different,
    /// The call failed without an effect, and will fail again.
    Failed,
}
