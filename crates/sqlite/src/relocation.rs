//! [`Relocatable`] on SQLite.
//!
//! The row is changed on a connection of its own, on a thread for blocking work: the fence keeps the writer
//! itself out. Whoever changes it holds the write lock, so writes under way are waited for.

pub(crate) mod fence;
pub(crate) mod rows;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    Changes, Differences, PetId, Relocatable, Relocation, Restore as _, RestoreError, StoreError,
    Writer,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::task;

use crate::{
    archive::restore::WriteTransaction,
    config::{BusyTimeout, Synchronous},
    connection,
    error::Failure,
    store::SqliteStore,
};

#[async_trait]
impl Relocatable for SqliteStore {
    async fn relocation(&self) -> Result<Option<Relocation>, StoreError> {
        self.readers
            .read(|connection| {
                let snapshot = connection.unchecked_transaction()?;
                rows::find(&snapshot)
            })
            .await
    }

    async fn begin(&self, row: Relocation) -> Result<bool, StoreError> {
        self.change_row(move |connection| Ok(rows::begin(connection, &row)?)).await
    }

    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError> {
        self.change_row(move |connection| Ok(rows::change(connection, expected, &row)?)).await
    }

    async fn end(&self, expected: i64) -> Result<bool, StoreError> {
        self.change_row(move |connection| rows::end(connection, expected)).await
    }

    async fn note_differences(&self, differences: Differences) -> Result<(), StoreError> {
        self.change_row(move |connection| Ok(rows::note(connection, &differences)?)).await
    }

    async fn horizon(&self) -> Result<Option<PetId>, StoreError> {
        self.readers.read(|connection| Ok(rows::horizon(connection)?)).await
    }

    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        self.readers.read(move |connection| rows::changes(connection, after, up_to, limit)).await
    }

    async fn apply(
        &self,
        Changes { pets, records, keys, purged }: Changes,
    ) -> Result<(), RestoreError> {
        self.writer()?;
        let (pool, versions) = (Arc::clone(&self.readers.pool), Arc::clone(&self.versions));
        let begin = move || WriteTransaction::begin(pool.path(), versions, Writer::Follower);
        let joined = task::spawn_blocking(begin).await.map_err(StoreError::unavailable)?;
        let mut transaction = Box::new(joined?);
        transaction.pets(pets).await?;
        transaction.idempotency_records(records).await?;
        transaction.keys(keys).await?;
        if let Some(purged) = purged {
            transaction.purge(&purged)?;
        }
        Ok(transaction.commit().await?)
    }
}

impl SqliteStore {
    /// Runs `work` in a transaction that holds the write lock.
    async fn change_row<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?;
        let pool = Arc::clone(&self.readers.pool);
        let change = move || -> Result<T, Failure<StoreError>> {
            let timeout = BusyTimeout::default().writer;
            let connection = connection::open_writer(pool.path(), Synchronous::Full, timeout)?;
            let immediate = TransactionBehavior::Immediate;
            let transaction = Transaction::new_unchecked(&connection, immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        let changed = task::spawn_blocking(change).await.map_err(StoreError::unavailable)?;
        changed.map_err(Failure::into_error)
    }
}
