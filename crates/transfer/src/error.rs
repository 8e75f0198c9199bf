//! Why a store was not handed over.

use petstore_domain::{CopyError, RestoreError, StoreError};

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
    Compare(#[source] CopyError),
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

    /// Whether it may pass by itself: a store could not be reached.
    pub(crate) fn passes(&self) -> bool {
        let unavailable = |error: &StoreError| matches!(error, StoreError::Unavailable(_));
        match self {
            Self::From(error)
            | Self::To(RestoreError::Store(error))
            | Self::Compare(CopyError::From(error) | CopyError::To(RestoreError::Store(error))) => {
                unavailable(error)
            }
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
