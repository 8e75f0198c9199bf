//! [`Handover`] on SQLite: columns of the one row of `petstore_state`.
//!
//! A writer reads the state under the write lock, and so does whoever changes it: writes under way are waited
//! for. A read notices by the version, which is empty in a store that is not open.

pub(crate) mod rows;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{Handover, StoreError, StoreState};
use rusqlite::{Transaction, TransactionBehavior};
use tokio::task;

use crate::{
    config::{BusyTimeout, Synchronous},
    connection,
    error::Failure,
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
        let change = move || -> Result<bool, Failure<StoreError>> {
            let timeout = BusyTimeout::default().writer;
            let connection = connection::open_writer(pool.path(), Synchronous::Full, timeout)?;
            let immediate = TransactionBehavior::Immediate;
            let transaction = Transaction::new_unchecked(&connection, immediate)?;
            let stored = rows::state(&transaction)?;
            if stored.revision != expected {
                return Ok(false);
            }
            rows::write(&transaction, &new)?;
            transaction.commit()?;
            if stored.id != new.id {
                // A log whose identity is not the file's is taken for that of another store (`open.rs`). If
                // readers hold it up, the last connection that is closed brings it into the file.
                let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            }
            Ok(true)
        };
        let changed = task::spawn_blocking(change).await.map_err(StoreError::unavailable)?;
        changed.map_err(Failure::into_error)
    }
}
