//! The errors of a store.
//!
//! Every port fails with [`StoreError`], or with an error of its own that holds one: what a caller may
//! answer differently is a variant of that operation's error. The enums are exhaustive on purpose: an
//! adapter does not compile until it handles a new variant.

use std::{error::Error, fmt};

/// A store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot answer now: overloaded, out of space, unreachable. The request may be
    /// tried again. The cause is for the log, never for a client.
    #[error("the store cannot answer: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The store is not open, because it is being handed over to another one, was handed over, or is being
    /// filled. Nothing has happened, and the same call may be tried on the other store. The reason follows
    /// the words "the store".
    #[error("the store {0}")]
    Sealed(String),
    /// The store refuses this, and will until an operator has changed something: a trigger or a constraint of
    /// the operator's own, a right that is missing, no identifiers left. Nothing has happened. The reason is for
    /// the log, never for a client.
    #[error("the store refuses it, and will again: {0}")]
    Refused(String),
    /// See [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

impl StoreError {
    /// Makes the error of a store that cannot answer now, because of `cause`. A cause that is such an error itself is
    /// returned, so that a log says it once.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match cause.into().downcast::<Self>() {
            Ok(error) if matches!(*error, Self::Unavailable(_)) => *error,
            Ok(error) => Self::Unavailable(error),
            Err(cause) => Self::Unavailable(cause),
        }
    }

    /// Makes the error of a store that is not open, because of `reason`.
    pub fn sealed(reason: impl fmt::Display) -> Self {
        Self::Sealed(reason.to_string())
    }

    /// Makes the error of a store that refuses this for good, because of `reason`.
    pub fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(reason.to_string())
    }

    /// Makes the error of a store that holds `what` (for example `animal 7`), which breaks `rule`.
    pub fn corrupt(what: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self::Corrupt(Corruption::new(what, rule))
    }
}

/// The store holds a row that breaks a rule of the domain: another program wrote it, or the disk
/// damaged it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the store holds {what}, which breaks the rule: {rule}")]
pub struct Corruption {
    /// Which row, for example `animal 7`.
    pub what: String,
    /// The rule, as the domain words it.
    pub rule: String,
}

impl Corruption {
    /// Says that `what` breaks `rule`.
    pub fn new(what: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self { what: what.to_string(), rule: rule.to_string() }
    }
}
