//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

mod snapshot;
mod write;

use async_trait::async_trait;
use petstore_domain::{Archive, Batch, RestoreError, Snapshot, StoreError, Written};

use self::snapshot::View;
use crate::{connection::SNAPSHOT, connector::Purpose, store::PostgresStore};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(View::new(transaction).await?))
    }

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        write::write(self, &batch).await
    }
}
