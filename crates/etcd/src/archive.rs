//! [`Archive`] on etcd: a snapshot is a revision, and each write is one transaction.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};

use self::snapshot::EtcdSnapshot;
use crate::store::EtcdStore;

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
        self.core.max_ops().rows()
    }
}
