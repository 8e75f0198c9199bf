//! The progress of a copy, a verification or a handover.

use std::ops::ControlFlow;

use crate::error::TransferError;

/// The progress of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress {
    /// The current step.
    pub step: TransferStep,
    /// The number of rows of this step that are done.
    pub done: u64,
    /// The number of all rows of this step; 0 if the number is unknown.
    pub total: u64,
}

/// A step of a copy, a verification or a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep {
    /// Animals of both stores are compared.
    ComparePets,
    /// Animals are copied.
    CopyPets,
    /// Idempotency records are copied.
    CopyRecords,
    /// The states of both stores are read and changed.
    ChangeState,
}

/// Receives the progress, at least after every batch. Breaking cancels the rest; committed rows stay.
pub type OnProgress<'w> = &'w mut (dyn FnMut(TransferProgress) -> ControlFlow<()> + Send);

/// Calls the observer. Fails if the observer cancels the run.
pub(crate) fn report(
    on_progress: OnProgress<'_>,
    step: TransferStep,
    done: u64,
    total: u64,
) -> Result<(), TransferError> {
    let flow = on_progress(TransferProgress { step, done, total });
    if flow.is_continue() { Ok(()) } else { Err(TransferError::Canceled) }
}
