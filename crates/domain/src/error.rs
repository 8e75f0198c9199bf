//! Why a port cannot do what it was asked.
//!
//! Whatever a caller may answer differently is a variant; everything else is [`Unavailable`], which
//! keeps its cause for the log. The enums are exhaustive on purpose: a new variant does not compile
//! in an adapter until someone has said what it means there.

use std::error::Error;

/// The store cannot answer now: overloaded, out of space, unreachable. Nothing is known to be wrong
/// with the request, so it may be tried again.
#[derive(Debug, thiserror::Error)]
#[error("the store cannot answer: {0}")]
pub struct Unavailable(#[source] Box<dyn Error + Send + Sync>);

impl Unavailable {
    /// Wraps what went wrong; it is meant for the log, never for a client.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// The store holds a row that breaks a rule of the domain: somebody else wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store holds {what}, which breaks the rule: {rule}")]
pub struct Corruption {
    /// Which row, for example `animal 7`.
    pub what: String,
    /// The rule, as the domain words it.
    pub rule: String,
}

/// A read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// See [`Unavailable`].
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

/// An animal could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The idempotency key still stands for another animal of the same caller.
    #[error("the idempotency key was used for another animal")]
    IdempotencyKeyReused,
    /// See [`Unavailable`].
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

/// An API key could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    /// A live key has this name.
    #[error("a live key already has this name")]
    NameTaken,
    /// The store holds as many live keys as it may.
    #[error("the store already holds {0} live keys, which is the most it may")]
    TooManyKeys(u32),
    /// See [`Unavailable`].
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

/// Something could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store holds something else in its place.
    #[error("the target already holds another {what}")]
    Conflict {
        /// Which, for example `animal 7`.
        what: String,
    },
    /// See [`Unavailable`].
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

impl From<ReadError> for RestoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unavailable(cause) => Self::Unavailable(cause),
            ReadError::Corrupt(cause) => Self::Corrupt(cause),
        }
    }
}

/// An API key could not be rolled.
#[derive(Debug, thiserror::Error)]
pub enum RollKeyError {
    /// No live key has this name.
    #[error("no live key has this name")]
    NoSuchKey,
    /// See [`AddKeyError::TooManyKeys`].
    #[error("the store already holds {0} live keys, which is the most it may")]
    TooManyKeys(u32),
    /// See [`Unavailable`].
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}
