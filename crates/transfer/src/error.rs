//! The reasons why a copy, a comparison or a handover failed.

use petstore_domain::{ArchiveError, StoreError};

use crate::difference::Difference;

/// The reason why a copy, a comparison or a handover ended early. Copied rows stay, and another run continues.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The source could not be read, or its state could not be changed.
    #[error("the source: {0}")]
    Source(#[source] StoreError),
    /// The target could not be read or written.
    #[error("the target: {0}")]
    Target(#[source] ArchiveError),
    /// The state or the rows of a store do not permit the operation.
    #[error("{0}")]
    Refused(String),
    /// The target holds rows that the source does not hold. Nothing was written.
    #[error("the target holds other data and was left as it is: {0}")]
    OtherData(Difference),
    /// The stores are not equal.
    #[error("the stores differ: {0}")]
    Different(Difference),
    /// Another program interfered, or the stores are too slow. A later run may succeed.
    #[error("{0}")]
    Failed(String),
    /// The observer canceled the run.
    #[error("stopped, and nothing is handed over; run the same command again to continue")]
    Canceled,
}

impl TransferError {
    /// Makes the error of a target that could not be read.
    pub(crate) fn target(error: StoreError) -> Self {
        Self::Target(error.into())
    }

    /// Makes the error of a run that may succeed later.
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }
}
