//! How a statement fails, and how that becomes an error of the domain.

use std::sync::Arc;

use petstore_domain::{Corruption, StoreError};
use rusqlite::ffi;

use crate::presence::LostFile;

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
            Self::Sqlite(error) => StoreError::unavailable(error).into(),
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

/// Why a group of writes was not done. Becomes the cause of a [`StoreError`] for each.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WriteFailure {
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    /// See [`LostFile`].
    #[error(transparent)]
    LostFile(#[from] LostFile),
    /// This write, or another of its group, failed.
    #[error("the transaction was rolled back: {error}{}", io_step(error))]
    RolledBack {
        /// Why.
        #[source]
        error: Arc<rusqlite::Error>,
    },
    /// The store is being moved, or was. Nothing was written.
    #[error("{0}")]
    Fenced(String),
    /// What the store says of a move cannot be read.
    #[error(transparent)]
    Unreadable(Arc<StoreError>),
    /// A transaction had failed, and no new connection could be opened for this one.
    #[error("the store cannot be opened again: {0}")]
    NotReopened(#[source] Arc<rusqlite::Error>),
}

/// What SQLite's "disk I/O error" leaves out: at which step.
fn io_step(error: &rusqlite::Error) -> &'static str {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    match code {
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => " (a synchronisation failed)",
        ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE => " (a write failed)",
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => " (a read failed)",
        ffi::SQLITE_IOERR_TRUNCATE => " (a truncation failed)",
        _ => "",
    }
}

impl From<rusqlite::Error> for WriteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::RolledBack { error: Arc::new(error) }
    }
}

impl From<WriteFailure> for StoreError {
    fn from(failure: WriteFailure) -> Self {
        if let WriteFailure::Fenced(reason) = failure {
            return Self::Fenced(reason);
        }
        Self::unavailable(failure)
    }
}
