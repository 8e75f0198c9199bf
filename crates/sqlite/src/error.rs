//! How a statement fails, and how that becomes an error of the domain.

use std::{fmt, sync::Arc};

use petstore_domain::{Corruption, StoreError};

use crate::writer::QUEUE;

/// Why work on a connection ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// SQLite could not do it. In a write, the whole group is rolled back.
    Sqlite(rusqlite::Error),
    /// The domain's answer is this error. In a write, it must be given before anything was
    /// written: the rest of the group is committed.
    Answer(E),
}

impl<E> From<rusqlite::Error> for Failure<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl<E: From<StoreError>> From<Corruption> for Failure<E> {
    fn from(corruption: Corruption) -> Self {
        Self::Answer(StoreError::from(corruption).into())
    }
}

/// `what` breaks `rule`.
pub(crate) fn corruption(what: impl fmt::Display, rule: impl fmt::Display) -> Corruption {
    Corruption { what: what.to_string(), rule: rule.to_string() }
}

/// Why a write was not done. Becomes the cause of an [`StoreError`].
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WriteFailure {
    /// More writes wait than the disk can take.
    #[error("the writer's queue is full ({QUEUE} writes wait)")]
    QueueFull,
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    /// The highest identifier is taken.
    #[error("no identifier is left: the highest, {}, is taken", i64::MAX)]
    NoIdentifier,
    /// This write, or another of its group, failed.
    #[error("the transaction was rolled back: {0}")]
    RolledBack(#[source] Arc<rusqlite::Error>),
}

impl From<WriteFailure> for StoreError {
    fn from(failure: WriteFailure) -> Self {
        Self::unavailable(failure)
    }
}
