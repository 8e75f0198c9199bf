//! [`Archive`] on etcd: a snapshot is a revision, a batch one transaction.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{Archive, Batch, RestoreError, Snapshot, StoreError, Written};

use self::snapshot::Frozen;
use crate::{
    core::{HEAD_OPS, MAX_OPS},
    store::EtcdStore,
};

/// Rows of one batch: it puts two entries for each at most, beside the record of a request and the entry by which
/// records are purged, and reads two for each at most, beside that record and the keys.
const MAX_ROWS: usize = (MAX_OPS - HEAD_OPS - 2) / 2;

#[async_trait]
impl Archive for EtcdStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let view = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(Box::new(Frozen { core: self.core.clone(), view }))
    }

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        write::write(&self.core, &batch).await
    }

    fn max_batch(&self) -> usize {
        MAX_ROWS
    }
}
