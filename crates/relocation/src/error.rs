//! Why a move does not go on.

use petstore_domain::{RestoreError, StoreError};

/// Why a step of a move was not done.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// One of the stores failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The standby did not take what the other store holds.
    #[error("the standby does not take what the other store holds: {0}")]
    Apply(#[from] RestoreError),
    /// The target holds something before the move has begun.
    #[error("the target is not empty; name an empty store, or one that does not exist")]
    NotEmpty,
    /// One of the stores takes part in another move, or took part in one.
    #[error("the {store} takes part in another move, with {peer}")]
    OtherMove {
        /// `source` or `target`.
        store: &'static str,
        /// The other store of that move, without its password.
        peer: String,
    },
    /// There is no move between these stores.
    #[error("no move between these stores has begun")]
    NoMove,
    /// The move is finished.
    #[error("the move is finished")]
    Finished,
    /// A move to the target was given up, which has left it half copied.
    #[error("a move to the target was given up; name an empty store, or one that does not exist")]
    GivenUp,
    /// Shadow reads have found differences.
    #[error(
        "{count} reads were answered differently by the two stores, the last one: {last}; compare them \
         with 'petstore store verify'; docs/MOVING.md says what to do then"
    )]
    Different {
        /// How many.
        count: i64,
        /// The last one.
        last: String,
    },
    /// The rows of the stores contradict each other.
    #[error("the two stores contradict each other about the move")]
    Contradiction,
    /// Another party has changed the row meanwhile.
    #[error("another mover, or a service, was at work at the same time; run the command again")]
    Interrupted,
    /// More is added than is copied.
    #[error(
        "animals are added faster than they are copied, so the stores do not flip; run the command again \
         when fewer are added"
    )]
    Outrun,
    /// The observer canceled it.
    #[error("stopped; what was copied stays, and the same command goes on from there")]
    Canceled,
}

impl MoveError {
    /// Whether the same may go well in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) | Self::Apply(RestoreError::Store(error)) => {
                matches!(error, StoreError::Unavailable(_) | StoreError::Sealed(_))
            }
            Self::Contradiction | Self::Interrupted => true,
            Self::Apply(RestoreError::OtherPet(_) | RestoreError::Conflict { .. })
            | Self::NotEmpty
            | Self::OtherMove { .. }
            | Self::NoMove
            | Self::Finished
            | Self::GivenUp
            | Self::Different { .. }
            | Self::Outrun
            | Self::Canceled => false,
        }
    }
}
