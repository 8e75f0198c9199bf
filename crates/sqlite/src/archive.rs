//! [`Archive`] on SQLite.
//!
//! A snapshot is an open read transaction on its own connection, which may outlive the store. It blocks no writer, but
//! the write-ahead log grows while it is open. Each write is a transaction on its own connection.

pub(crate) mod snapshot;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};
use tokio::task;

use self::{snapshot::ReadTransaction, write::Written};
use crate::{connection::Statements, error::Failure, store::SqliteStore};

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let pool = Arc::clone(self.readers.pool());
        let begin = move || ReadTransaction::begin(pool);
        let snapshot = task::spawn_blocking(begin).await.map_err(StoreError::unavailable)?;
        Ok(Box::new(snapshot.map_err(StoreError::unavailable)?))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let write = move |statements: &mut Statements<'_>| write::rows(statements, &rows);
        self.write_alone(writer, write).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let write =
            move |statements: &mut Statements<'_>| write::new_pets(statements, &pets, request);
        self.write_alone(WriterRole::Service, write).await
    }
}

impl SqliteStore {
    /// Runs `work` in a separate transaction.
    async fn write_alone(
        &self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<Written, Failure<ArchiveError>>
        + Send
        + 'static,
    ) -> Result<u64, ArchiveError> {
        self.writer()?;
        let (pool, versions) = (Arc::clone(self.readers.pool()), Arc::clone(&self.versions));
        let write = move || write::in_transaction(&pool.path, &versions, writer, work);
        let written = task::spawn_blocking(write).await.map_err(StoreError::unavailable)?;
        written.map_err(Failure::into_error)
    }
}
