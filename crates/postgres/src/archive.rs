//! [`Archive`] on PostgreSQL, on connections outside of the pool.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};

use self::snapshot::PostgresSnapshot;
use crate::{connection::SNAPSHOT, connector::Purpose, store::PostgresStore};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(PostgresSnapshot::new(transaction).await?))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        write::rows(self, writer, &rows).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        write::new_pets(self, &pets, request.as_ref()).await
    }
}
