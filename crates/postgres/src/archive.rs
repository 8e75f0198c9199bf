//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

mod restore;
mod snapshot;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Restoring, snapshot::View};
use crate::{
    connector::Purpose,
    store::PostgresStore,
    transaction::{READ_COMMITTED, SNAPSHOT, Transaction},
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = Transaction::begin(&self.connector, Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(View::new(transaction).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let begin = Transaction::begin(&self.connector, Purpose::Archive, READ_COMMITTED);
        Ok(Box::new(Restoring::new(begin.await?, self.version.clone())))
    }
}
