//! [`Handover`] on SQLite: columns of the one row of `catalogue`.
//!
//! A writer reads the state under the write lock, and so does whoever changes it: writes under way are waited
//! for. A read notices by the version, which is empty in a store that is not open.

pub(crate) mod rows;

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use petstore_domain::{Changes, Handover, PetId, StoreError, StoreState};
use rusqlite::{Transaction, TransactionBehavior};
use tokio::task;

use crate::{
    config::{BusyTimeout, Synchronous},
    connection,
    store::SqliteStore,
};

#[async_trait]
impl Handover for SqliteStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.readers.read(rows::state).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.writer()?;
        let pool = Arc::clone(&self.readers.pool);
        let change = move || -> rusqlite::Result<bool> {
            let timeout = BusyTimeout::default().writer;
            let connection = connection::open_writer(pool.path(), Synchronous::Full, timeout)?;
            let immediate = TransactionBehavior::Immediate;
            let transaction = Transaction::new_unchecked(&connection, immediate)?;
            let changed = rows::change(&transaction, expected, &new)?;
            transaction.commit()?;
            Ok(changed)
        };
        let changed = task::spawn_blocking(change).await.map_err(StoreError::unavailable)?;
        changed.map_err(StoreError::unavailable)
    }

    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        // Identifiers are assigned under the write lock, so no lower one can come.
        self.readers.read(move |connection| rows::changes(connection, after, limit)).await
    }

    fn read_while_sealed(&self) {
        self.reads_while_sealed.store(true, Ordering::Relaxed);
    }
}
