//! [`Archive`] on SQLite.
//!
//! Both run their SQL on the calling thread, on a connection of their own, so a batch should be
//! read or written in well under a second.
//!
//! A snapshot is an open read transaction. It holds up no writer, but as long as it is open, the
//! write-ahead log cannot start anew and grows with all that is written.
//!
//! A restore holds SQLite's one write lock from its first moment until it is committed or dropped.
//! Meanwhile, the creates of a running service wait, and fail as
//! [`StoreError`] after three seconds: who copies into a store that is in use takes a new restore
//! for every batch.

mod restore;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};
use rusqlite::Connection;

use self::{restore::Transaction, snapshot::View};
use crate::{
    SqliteStore, Synchronous, config::Patience, connection, error::Failure, file::DatabaseFile,
};

/// What a restore may keep in memory before it writes pages to the log, in KiB, as SQLite takes it
/// (negative).
const RESTORE_CACHE: i64 = -64 * 1024;

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let view = self.reader().and_then(View::begin).map_err(StoreError::unavailable)?;
        Ok(Box::new(view))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let transaction = self
            .restorer()
            .and_then(|connection| Transaction::begin(connection, Arc::clone(&self.board)))
            .map_err(StoreError::unavailable)?;
        Ok(Box::new(transaction))
    }
}

impl SqliteStore {
    fn reader(&self) -> Result<Dedicated, Broken> {
        Dedicated::new(self.readers.open()?)
    }

    /// A connection that writes with full synchronisation, whatever the store was opened with: a
    /// restore commits rarely, so it costs next to nothing.
    fn restorer(&self) -> Result<Dedicated, Broken> {
        let path = PathBuf::from(self.readers.open()?.path().unwrap_or_default());
        let patience = Patience::default().writer;
        let connection = connection::open_writer(&path, Synchronous::Full, patience)?;
        connection.pragma_update(None, "cache_size", RESTORE_CACHE)?;
        Dedicated::new(connection)
    }
}

/// A connection that may outlive its store.
struct Dedicated {
    // In the order in which they are dropped: the file is closed when SQLite's locks are gone.
    connection: Connection,
    _file: DatabaseFile,
}

impl Dedicated {
    fn new(connection: Connection) -> Result<Self, Broken> {
        let path = PathBuf::from(connection.path().unwrap_or_default());
        Ok(Self { connection, _file: DatabaseFile::open_or_create(&path)? })
    }
}

/// Why a connection cannot be had.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What SQLite's failure is to a reader.
fn answered<T>(result: Result<T, Failure<StoreError>>) -> Result<T, StoreError> {
    result.map_err(|failure| match failure {
        Failure::Answer(error) => error,
        Failure::Sqlite(error) => StoreError::unavailable(error).into(),
    })
}
