//! How a statement fails, and how that becomes an error of the domain.

use std::sync::Arc;

use petstore_domain::{Corruption, StoreError};

use crate::{file_limit, presence::LostFile};

/// Why work on a connection ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// SQLite could not do it. In a write, the whole group is rolled back.
    Sqlite(rusqlite::Error),
    /// The answer is this error. In a write, it must be given before anything was written: the rest
    /// of the group is committed.
    Answer(E),
}

impl<E: From<StoreError>> Failure<E> {
    /// What the caller gets, where there is no group.
    pub(crate) fn into_error(self) -> E {
        match self {
            Self::Answer(error) => error,
            Self::Sqlite(error) => StoreError::unavailable(file_limit::cause(error)).into(),
        }
    }
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

/// Why a write was not done. Becomes the cause of a [`StoreError`].
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WriteFailure {
    /// More writes wait than the disk can take.
    #[error("the writer's queue is full ({max} writes wait)")]
    QueueFull {
        /// How many may wait.
        max: usize,
    },
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    /// See [`LostFile`].
    #[error(transparent)]
    LostFile(#[from] LostFile),
    /// This write, or another of its group, failed.
    #[error("the transaction was rolled back: {0}")]
    RolledBack(#[source] Arc<rusqlite::Error>),
}

impl From<rusqlite::Error> for WriteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::RolledBack(Arc::new(error))
    }
}

impl From<WriteFailure> for StoreError {
    fn from(failure: WriteFailure) -> Self {
        Self::unavailable(failure)
    }
}

/// Why a read was not done. Becomes the cause of a [`StoreError`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum ReadFailure {
    /// More reads wait than the disk can take.
    #[error("the disk is too slow ({max} reads wait)")]
    QueueFull {
        /// How many may wait.
        max: usize,
    },
}

impl From<ReadFailure> for StoreError {
    fn from(failure: ReadFailure) -> Self {
        Self::unavailable(failure)
    }
}
