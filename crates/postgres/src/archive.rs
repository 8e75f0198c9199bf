//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

pub(crate) mod restore;
mod snapshot;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Restoring, snapshot::View};
use crate::{
    connector::Purpose,
    relocation::rows,
    sequences,
    store::PostgresStore,
    transaction::{READ_COMMITTED, SNAPSHOT, Transaction, WRITING},
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = Transaction::begin(&self.pool, Purpose::Archive, SNAPSHOT).await?;
        Ok(Box::new(View::new(transaction).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let transaction = Transaction::begin(&self.pool, Purpose::Archive, WRITING).await?;
        if rows::is_true(&transaction.rows(rows::EXISTS, &[]).await?)? {
            return Err(StoreError::fenced("it is being moved; finish the move first"));
        }
        // A role that may not read or raise them may import all the same, if it need not.
        if sequences::behind(&self.pool).await.is_ok_and(|behind| !behind.is_empty()) {
            let begin = Transaction::begin(&self.pool, Purpose::Calls, READ_COMMITTED);
            sequences::raise(begin.await?).await?;
        }
        Ok(Box::new(Restoring::new(transaction, self.version.clone())))
    }
}
