//! [`Archive`] on etcd: a snapshot is a revision, and each write is one transaction.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};

use self::snapshot::EtcdSnapshot;
use crate::{limits::ENTRY_OPS, store::EtcdStore};

/// The largest number of rows in one write. A record that replaces another one is three operations, and one more names
/// all records for the purge. The animals of [`Archive::add_new`] are two operations each, its record is two.
const MAX_ROWS: usize = (ENTRY_OPS - 1) / 3;

#[async_trait]
impl Archive for EtcdStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let read = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(Box::new(EtcdSnapshot { core: self.core.clone(), read }))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        write::write_rows(&self.core, writer, &rows).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        write::add_new(&self.core, &pets, request).await
    }

    fn max_batch(&self) -> usize {
        MAX_ROWS
    }
}
