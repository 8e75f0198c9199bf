//! How far a copy or a verification has come.

use std::ops::ControlFlow;

/// Animals or idempotency records that are read or written at a time. One transaction writes them,
/// so that a service on the target waits for none longer than a fraction of a second. With 20,000,
/// beginning and committing would take a fifth of a copy into PostgreSQL. With the longest names it is
/// 50 MiB.
pub(crate) const BATCH: u32 = 50_000;

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

/// The observer has canceled what was being done.
pub(crate) struct Canceled;

/// Calls the observer.
pub(crate) fn report(
    on_progress: OnProgress<'_>,
    progress: TransferProgress,
) -> Result<(), Canceled> {
    match on_progress(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Canceled),
    }
}
