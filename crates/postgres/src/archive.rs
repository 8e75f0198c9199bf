//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

pub(crate) mod restore;
mod snapshot;
pub(crate) mod spare;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Restoring, snapshot::View};
use crate::{
    relocation::rows,
    store::PostgresStore,
    transaction::{READ_COMMITTED, SNAPSHOT},
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.spare.begin(&self.connector, SNAPSHOT).await?;
        Ok(Box::new(View::new(transaction).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let transaction = self.spare.begin(&self.connector, READ_COMMITTED).await?;
        if rows::is_true(&transaction.rows(rows::EXISTS, &[]).await?)? {
            return Err(StoreError::fenced("it is being moved; finish the move first"));
        }
        Ok(Box::new(Restoring::new(transaction, self.version.clone(), self.spare.clone())))
    }
}
