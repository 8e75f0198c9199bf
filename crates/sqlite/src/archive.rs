//! [`Archive`] on SQLite.
//!
//! A snapshot is an open read transaction on a connection of its own, which may outlive the store. When it is
//! taken, SQLite checks all of the store for damage, on a thread for blocking work. It holds up no writer, but as
//! long as it is open, the write-ahead log cannot start anew and grows with all that is written.
//!
//! A batch is a write transaction on a connection of its own (`write.rs`).

pub(crate) mod snapshot;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{Archive, Batch, RestoreError, Snapshot, StoreError, Written};
use tokio::task;

use self::snapshot::ReadTransaction;
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

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        self.writer()?;
        let (pool, versions) = (Arc::clone(&self.readers.pool), Arc::clone(&self.versions));
        let write = move || write::write(pool.path(), &versions, batch);
        let written = task::spawn_blocking(write).await.map_err(StoreError::unavailable)?;
        written.map_err(Failure::into_error)
    }
}
