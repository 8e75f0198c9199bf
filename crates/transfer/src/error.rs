//! The reasons why a copy, a comparison or a handover failed.

use petstore_domain::{ArchiveError, StoreCounts, StoreError};

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
    /// The state of a store does not permit the operation.
    #[error("{0}")]
    Refused(String),
    /// The target holds rows that the source does not hold. Nothing was written.
    #[error("the target holds other data and was left as it is: {0}")]
    OtherData(Difference),
    /// The stores are not equal.
    #[error(
        "the stores differ: {difference}; the source holds {} animals and {} API keys, \
         the target {} and {}", .source_counts.pets, .source_counts.keys, .target_counts.pets, .target_counts.keys
    )]
    Different {
        /// The first difference.
        difference: Difference,
        /// The number of rows in the source.
        source_counts: StoreCounts,
        /// The number of rows in the target.
        target_counts: StoreCounts,
    },
    /// The target would assign identifiers that the source has assigned already.
    #[error(
        "the stores differ: the highest identifier of {rows} ever assigned is {in_source} in the source and \
         {in_target} in the target, which would assign identifiers twice"
    )]
    LowerHighestId {
        /// `animals` or `API keys`.
        rows: &'static str,
        /// The highest identifier of the source.
        in_source: i64,
        /// The highest identifier of the target; 0 if it has none.
        in_target: i64,
    },
    /// Another program wrote to the target during the copy.
    #[error(
        "another program wrote to the target meanwhile; run it again when nothing uses the target"
    )]
    ConcurrentWrite,
    /// Another command changed the state of a store during the run.
    #[error("another command has changed the state of {0} meanwhile; run one of them again")]
    Overtaken(String),
    /// Animals of the source were changed by an import with identifiers or by SQL.
    #[error(
        "animals of the old store keep being changed otherwise than by additions (by an import with \
         identifiers or by SQL); stop that, and run it again"
    )]
    Rewritten,
    /// Animals are added faster than they are copied.
    #[error("animals are added faster than they are copied; run it again at a quieter hour")]
    TooFast,
    /// The last rows were not copied within the longest pause of writes.
    #[error(
        "the last rows could not be copied fast enough, and writes do not wait longer; run it again at a quieter hour"
    )]
    TooSlow,
    /// The source is sealed, and the target is not known to be open.
    #[error(
        "the old store is sealed and the new one is not known to be open, so writes wait; run it again, or \
         with --cancel ({0})"
    )]
    LeftSealed(String),
    /// The observer canceled the run.
    #[error("stopped; nothing is handed over, and the same command continues")]
    Canceled,
}

impl TransferError {
    /// Makes the error of a target that could not be read.
    pub(crate) fn target(error: StoreError) -> Self {
        Self::Target(error.into())
    }
}
