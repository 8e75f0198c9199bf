//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

mod restore;
mod session;
mod snapshot;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Transaction, session::ArchiveSession, snapshot::View};
use crate::store::PostgresStore;

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let session = ArchiveSession::begin(&self.connector, session::READING).await?;
        Ok(Box::new(View::new(session).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let session = ArchiveSession::begin(&self.connector, session::WRITING).await?;
        Ok(Box::new(Transaction::new(session, self.version.clone())))
    }
}
