//! The errors of a copy.

use crate::{
    error::StoreError,
    transfer::{archive::RestoreError, difference::Difference, progress::Canceled},
};

/// Why a copy ended early. What was committed stays, and running the copy again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source could not be read.
    #[error("reading the source: {0}")]
    From(#[source] StoreError),
    /// The target could not be read or written.
    #[error("writing the target: {0}")]
    To(#[source] RestoreError),
    /// The target held something that the source does not. Nothing was written.
    #[error("the target holds other data and was left as it is: {0}")]
    OtherData(Difference),
    /// Something other than the copy wrote to the target meanwhile.
    #[error(
        "something else wrote to the target meanwhile: it holds {to} animals and the source {from}"
    )]
    ConcurrentWrite {
        /// Animals in the source.
        from: u64,
        /// Animals in the target.
        to: u64,
    },
    /// The observer canceled it.
    #[error("canceled")]
    Canceled,
}

impl CopyError {
    /// The target could not be read.
    pub(super) fn target(error: StoreError) -> Self {
        Self::To(error.into())
    }
}

impl From<Canceled> for CopyError {
    fn from(Canceled: Canceled) -> Self {
        Self::Canceled
    }
}
