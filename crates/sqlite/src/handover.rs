//! [`Handover`] on SQLite: columns of the one row of `petstore_state`.
//!
//! Writers and changes of the state hold the write lock, so a change waits for running writes. The version is empty
//! unless the phase of the state is open. So a read looks at the state only if the version is empty.

pub(crate) mod rows;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{Handover, StoreError, StoreState};
use rusqlite::{Transaction, TransactionBehavior, params};
use tokio::task;

use self::rows::{WRITE, state};
use crate::{
    config::Synchronous,
    connection::{self, WRITE_TIMEOUT},
    error::Failure,
    store::SqliteStore,
};

#[async_trait]
impl Handover for SqliteStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.readers.read(state).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.writer()?;
        let pool = Arc::clone(&self.readers.shared.pool);
        let change = move || change(&pool.path, expected, &new);
        let changed = task::spawn_blocking(change).await.map_err(StoreError::unavailable)?;
        Ok(changed?)
    }
}

/// Replaces the state if its revision is `expected`.
///
/// Empties the write-ahead log before the identity changes. So until the next checkpoint, only the log has the new
/// identity, and the file has the former one. After a crash, `schema::check_log` recognizes from the former values that
/// the log belongs to this file.
fn change(path: &Path, expected: i64, new: &StoreState) -> Result<bool, Failure> {
    let connection = connection::open_writer(path, Synchronous::Full, WRITE_TIMEOUT)?;
    let is_renamed = state(&connection)?.id != new.id;
    if is_renamed {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
    if state(&transaction)?.revision != expected {
        return Ok(false);
    }
    if is_renamed && connection::log(path).is_some() {
        let reason =
            "the identity was not changed, because another process reads or writes the store";
        return Err(StoreError::unavailable(reason).into());
    }
    let (word, other, label) = new.phase.parts();
    let values = params![new.id.0, new.revision, word, other.map(|other| other.0), label];
    transaction.execute(WRITE, values)?;
    transaction.commit()?;
    Ok(true)
}
