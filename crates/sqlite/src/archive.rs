//! [`Archive`] on SQLite.
//!
//! Both of its parts have a connection of their own, and may outlive the store. A restore runs its SQL on
//! the calling thread, so a batch should be written in well under a second.
//!
//! A snapshot is an open read transaction. It holds up no writer, but as long as it is open, the write-ahead
//! log cannot start anew and grows with all that is written. While it is read, SQLite checks all of the file
//! for damage, on another connection and a thread of its own. The last animals are not handed out before
//! the check has ended without a fault: it takes a fifth of the time of a copy.
//!
//! A restore holds SQLite's one write lock from its first moment until it is committed or dropped.
//! Meanwhile, the creates of a running service wait, and fail as [`StoreError`] after three seconds:
//! who copies into a store that is in use takes a new restore for every batch.

pub(crate) mod restore;
mod snapshot;
#[cfg(test)]
#[cfg(not(feature = "schedules"))]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError, Writer};

use self::{restore::WriteTransaction, snapshot::ReadTransaction};
use crate::{error::Failure, store::SqliteStore};

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let open = || {
            let connection = self.readers.pool.open();
            connection.map_err(|error| Failure::<StoreError>::Sqlite(error).into_error())
        };
        Ok(Box::new(ReadTransaction::begin(open()?, open()?, self.file.share())?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let (path, versions) = (self.readers.pool.path(), Arc::clone(&self.versions));
        let file = self.file.share();
        Ok(Box::new(WriteTransaction::begin(path, versions, file, Writer::Service)?))
    }
}
