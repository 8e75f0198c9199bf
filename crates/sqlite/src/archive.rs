//! [`Archive`] on SQLite.
//!
//! A snapshot is an open read transaction on its own connection, which may outlive the store. It blocks no writer, but
//! the write-ahead log grows while it is open.

pub(crate) mod snapshot;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};
use tokio::task;

use self::snapshot::ReadTransaction;
use crate::{connection::Statements, store::SqliteStore};

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
        self.writer()?.transaction(writer, write).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let write =
            move |statements: &mut Statements<'_>| write::new_pets(statements, &pets, request);
        self.writer()?.transaction(WriterRole::Service, write).await
    }
}
