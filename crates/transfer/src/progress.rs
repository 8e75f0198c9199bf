//! How far a copy or a verification has come.

use std::ops::ControlFlow;

use crate::error::TransferError;

/// Animals or idempotency records that are read at a time, to be compared. With the longest names it is 10 MiB.
pub(crate) const BATCH: u32 = 10_000;

/// How far a copy or a verification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress {
    /// What is being done.
    pub step: TransferStep,
    /// Rows of this step that are done.
    pub done: u64,
    /// Rows of this step altogether; 0 if that is not known.
    pub total: u64,
}

/// A step of a copy or a verification, named after its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep {
    /// Animals of both stores are compared.
    ComparePets,
    /// Animals are copied.
    CopyPets,
    /// Idempotency records are copied.
    CopyRecords,
}

/// Called after every batch. Breaking cancels what is left; what was committed stays.
pub type OnProgress<'w> = &'w mut (dyn FnMut(TransferProgress) -> ControlFlow<()> + Send);

/// Calls the observer.
pub(crate) fn report(
    on_progress: OnProgress<'_>,
    step: TransferStep,
    done: u64,
    total: u64,
) -> Result<(), TransferError> {
    match on_progress(TransferProgress { step, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(TransferError::Canceled),
    }
}
