//! Why two stores were not copied, found equal, or handed over.

use petstore_domain::{RestoreError, StoreCounts, StoreError};

use crate::difference::Difference;

/// Why a copy or a comparison ended early. What a copy has committed stays, and running it again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The source could not be read.
    #[error("reading the source: {0}")]
    From(#[source] StoreError),
    /// The target could not be read or written.
    #[error("the target: {0}")]
    To(#[source] RestoreError),
    /// The target held something that the source does not. Nothing was written.
    #[error("the target holds other data and was left as it is: {0}")]
    OtherData(Difference),
    /// They are not equal.
    #[error(
        "the stores differ: {difference}; the source holds {} animals and {} API keys, \
         the target {} and {}", .from.pets, .from.keys, .to.pets, .to.keys
    )]
    Different {
        /// The first one.
        difference: Difference,
        /// How much the source holds.
        from: StoreCounts,
        /// How much the target holds.
        to: StoreCounts,
    },
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

impl TransferError {
    /// Makes the error of a target that could not be read.
    pub(crate) fn to(error: StoreError) -> Self {
        Self::To(error.into())
    }
}

/// Why a store was not handed over, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The old store could not be read or changed.
    #[error("the old store: {0}")]
    From(#[source] StoreError),
    /// The new store could not be read or written.
    #[error("the new store: {0}")]
    To(#[source] RestoreError),
    /// What the new store holds is not what the old one holds.
    #[error("{0}")]
    Compare(#[source] TransferError),
    /// The two stores cannot be handed over like this.
    #[error("{0}")]
    Refused(String),
    /// Something changed a state meanwhile.
    #[error("another command has changed the state of {0} meanwhile; run one of them again")]
    Overtaken(String),
    /// Animals of the old store were changed otherwise than by additions.
    #[error(
        "animals of the old store keep being changed otherwise than by additions of this release (by an \
         import, by SQL, or by an older release); stop that, and run it again"
    )]
    Rewritten,
    /// Additions come faster than they are copied.
    #[error("animals are added faster than they are copied; run it again at a quieter hour")]
    TooFast,
    /// Nobody writes now.
    #[error(
        "the old store is sealed and the new one is not open, so writes wait; run it again, or with \
         --cancel ({0})"
    )]
    LeftSealed(String),
    /// The observer canceled it.
    #[error("stopped; nothing is handed over, and the same command goes on")]
    Canceled,
}

impl MoveError {
    pub(crate) fn to(error: StoreError) -> Self {
        Self::To(error.into())
    }

    pub(crate) fn of_comparison(error: TransferError) -> Self {
        if matches!(error, TransferError::Canceled) { Self::Canceled } else { Self::Compare(error) }
    }

    /// Returns whether it may pass by itself: a store could not be reached.
    pub(crate) fn passes(&self) -> bool {
        let unavailable = |error: &StoreError| matches!(error, StoreError::Unavailable(_));
        match self {
            Self::From(error)
            | Self::To(RestoreError::Store(error))
            | Self::Compare(
                TransferError::From(error) | TransferError::To(RestoreError::Store(error)),
            ) => unavailable(error),
            Self::To(_)
            | Self::Compare(_)
            | Self::Refused(_)
            | Self::Overtaken(_)
            | Self::Rewritten
            | Self::TooFast
            | Self::LeftSealed(_)
            | Self::Canceled => false,
        }
    }
}
