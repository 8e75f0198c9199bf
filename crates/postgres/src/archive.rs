//! [`Archive`] on PostgreSQL, on connections outside of the pool.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};

use self::{snapshot::PostgresSnapshot, write::Begun};
use crate::{
    connection::{APPENDING_LOCKED, SNAPSHOT, WRITING},
    connector::Purpose,
    sequences,
    store::PostgresStore,
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(PostgresSnapshot::new(transaction).await?))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let Rows { pets, keys, records, highest } = &rows;
        let begun = Begun::new(self, WRITING, writer).await?;
        let transaction = &begun.transaction;
        let added = write::write_pets(transaction, pets).await?;
        transaction.query(sequences::RAISE, &[&highest.pet.map(|id| id.0)]).await?;
        write::write_keys(transaction, keys).await?;
        write::write_records(transaction, records).await?;
        begun.commit(self, added > 0, highest.key).await?;
        Ok(added)
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        // A role that may not read the sequence can import all the same.
        if sequences::are_behind(&self.pool).await.unwrap_or(false) {
            sequences::raise(&self.pool).await?;
        }
        let begun = Begun::new(self, APPENDING_LOCKED, WriterRole::Service).await?;
        let added = write::add_pets(&begun.transaction, &pets, request.as_ref()).await?;
        // The statement that adds animals has renewed the version.
        begun.commit(self, false, None).await?;
        Ok(added)
    }
}
