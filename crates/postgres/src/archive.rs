//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

pub(crate) mod restore;
mod snapshot;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Restoring, snapshot::View};
use crate::{
    connection::{READ_COMMITTED, SNAPSHOT, WRITING},
    connector::Purpose,
    relocation::rows,
    sequences,
    store::PostgresStore,
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(View::new(transaction).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, WRITING).await?;
        if rows::is_true(&transaction.query(rows::EXISTS, &[]).await?)? {
            return Err(StoreError::fenced("it is being moved; finish the move first"));
        }
        // A role that may not read or raise them may import all the same, if it need not.
        if sequences::behind(&self.pool).await.is_ok_and(|behind| !behind.is_empty()) {
            sequences::raise(&self.pool.begin(Purpose::Calls, READ_COMMITTED).await?).await?;
        }
        Ok(Box::new(Restoring::new(transaction, self.version.clone())))
    }
}
