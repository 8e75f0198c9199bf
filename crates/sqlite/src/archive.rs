//! [`Archive`] on SQLite.
//!
//! Both of its parts have a connection of their own, and may outlive the store. A restore runs its SQL on
//! the calling thread, so a batch should be written in well under a second.
//!
//! A snapshot is an open read transaction. When it is taken, SQLite checks all of the store for damage, on
//! a thread for blocking work. It holds up no writer, but as long as it is open, the write-ahead log cannot
//! start anew and grows with all that is written.
//!
//! A restore holds SQLite's one write lock from its first moment until it is committed or dropped.
//! Meanwhile, the creates of a running service wait, and fail as [`StoreError`] after three seconds:
//! who copies into a store that is in use takes a new restore for every batch.

pub(crate) mod restore;
pub(crate) mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError, Writer};
use tokio::task;

use self::{restore::WriteTransaction, snapshot::ReadTransaction};
use crate::{error::Failure, store::SqliteStore};

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let pool = Arc::clone(&self.readers.pool);
        let begin = move || {
            let connection = pool.open().map_err(Failure::<StoreError>::Sqlite);
            ReadTransaction::begin(connection.map_err(Failure::into_error)?)
        };
        let joined = task::spawn_blocking(begin).await.map_err(StoreError::unavailable)?;
        Ok(Box::new(joined?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        self.writer()?;
        let (path, versions) = (self.readers.pool.path(), Arc::clone(&self.versions));
        Ok(Box::new(WriteTransaction::begin(path, versions, Writer::Service)?))
    }
}
