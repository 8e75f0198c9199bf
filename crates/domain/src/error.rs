//! The errors of a store.
//!
//! Every port fails with [`StoreError`], or with an error of its own that contains a [`StoreError`]. Each failure that
//! a caller may answer differently is a variant. The enums are exhaustive on purpose: an adapter does not compile until
//! it handles a new variant.

use std::{error::Error, fmt, sync::Arc};

/// A store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot answer now: overloaded, out of space, unreachable. The caller may retry. The cause is for
    /// the log, never for a client.
    #[error("the store cannot answer: {0}")]
    Unavailable(#[source] Arc<dyn Error + Send + Sync>),
    /// The store is not open: it is being handed over to another store, was handed over, or is being filled.
    /// The call had no effect, and the caller may repeat it on the other store. The reason follows the words
    /// "the store".
    #[error("the store {0}")]
    Sealed(String),
    /// The store refuses the call until an operator changes something: a trigger or constraint that the
    /// operator has added, a missing right, no identifiers left. The call had no effect. The reason is for the
    /// log, never for a client.
    #[error("the store refuses it, and will again: {0}")]
    Refused(String),
    /// A stored row breaks a rule: see [`Corruption`].
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

impl StoreError {
    /// Makes an [`Unavailable`](Self::Unavailable) error. Returns `cause` unchanged if it is already an `Unavailable`
    /// error, so that the log contains its text once.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match cause.into().downcast::<Self>() {
            Ok(error) if matches!(*error, Self::Unavailable(_)) => *error,
            Ok(error) => Self::Unavailable(Arc::new(*error)),
            Err(cause) => Self::Unavailable(cause.into()),
        }
    }

    /// Makes a [`Sealed`](Self::Sealed) error.
    pub fn sealed(reason: impl fmt::Display) -> Self {
        Self::Sealed(reason.to_string())
    }

    /// Makes a [`Refused`](Self::Refused) error.
    pub fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(reason.to_string())
    }

    /// Makes a [`Corrupt`](Self::Corrupt) error: the store holds `what` (for example `animal 7`), which breaks
    /// `rule`.
    pub fn corrupt(what: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self::Corrupt(Corruption::new(what, rule))
    }
}

/// The store holds a row that breaks a rule of the domain: another program wrote it, or the disk
/// damaged it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the store holds {what}, which breaks the rule: {rule}")]
pub struct Corruption {
    /// The row, for example `animal 7`.
    pub what: String,
    /// The rule, in the words of the domain.
    pub rule: String,
}

impl Corruption {
    /// Makes the corruption of a row `what`, which breaks `rule`.
    pub fn new(what: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self { what: what.to_string(), rule: rule.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::StoreError;

    #[test]
    fn unavailable_wraps_every_error_except_an_unavailable_one() {
        let nested = StoreError::unavailable(StoreError::unavailable("down"));
        assert_eq!(nested.to_string(), StoreError::unavailable("down").to_string());
        let sealed = StoreError::unavailable(StoreError::sealed("closed"));
        assert!(matches!(sealed, StoreError::Unavailable(cause) if cause.is::<StoreError>()));
    }
}
