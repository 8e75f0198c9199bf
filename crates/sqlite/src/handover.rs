//! [`Handover`] on SQLite: columns of the one row of `petstore_state`.
//!
//! Writers and changes of the state hold the write lock, so a change waits for running writes. Reads check the version,
//! which is empty in a store that is not open.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{
    CatalogueVersion, Corruption, Handover, Phase, StoreError, StoreId, StoreState, WriterRole,
};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use tokio::task;

use crate::{
    config::{BusyTimeout, Synchronous},
    connection::{self, Statements},
    error::Failure,
    store::SqliteStore,
};

pub(crate) const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM petstore_state WHERE only = 1";
const WRITE: &str = "UPDATE petstore_state SET revision = ?2, state = ?3, other = ?4, label = ?5, \
     renamed_from = CASE identity WHEN ?1 THEN renamed_from \
     ELSE hex(identity) || hex(version) || hex(key_revision) END, identity = ?1, \
     version = CASE ?3 WHEN 'open' THEN randomblob(16) ELSE zeroblob(0) END WHERE only = 1";

/// Selects one row if the store is open, otherwise none.
pub(crate) const IS_OPEN: &str = "SELECT 1 FROM petstore_state WHERE only = 1 AND state = 'open'";

#[async_trait]
impl Handover for SqliteStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.readers.read(state).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.writer()?;
        let pool = Arc::clone(self.readers.pool());
        let change = move || change(&pool.path, expected, &new);
        let changed = task::spawn_blocking(change).await.map_err(StoreError::unavailable)?;
        Ok(changed?)
    }
}

/// Replaces the state if its revision is `expected`.
///
/// Empties the log before the identity changes. So the file keeps the former identity and version until the next
/// checkpoint. After a crash, `schema::check_log` compares these values with the log.
fn change(path: &Path, expected: i64, new: &StoreState) -> Result<bool, Failure> {
    let timeout = BusyTimeout::default().writer;
    let connection = connection::open_writer(path, Synchronous::Full, timeout)?;
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
    write(&transaction, new)?;
    transaction.commit()?;
    Ok(true)
}

/// Fails if the state of the store does not permit `writer` to write.
pub(crate) fn permit_write(
    statements: &mut Statements<'_>,
    writer: WriterRole,
) -> Result<(), Failure> {
    if writer == WriterRole::Service && statements.get(IS_OPEN)?.exists([])? {
        return Ok(());
    }
    Ok(state(statements.connection)?.permit_write(writer)?)
}

/// Returns the state.
pub(crate) fn state(connection: &Connection) -> Result<StoreState, Failure> {
    Ok(connection.prepare_cached(STATE)?.query_row([], |row| Ok(from_row(row)))??)
}

fn from_row(row: &Row<'_>) -> Result<StoreState, Corruption> {
    let read = || -> rusqlite::Result<_> {
        let (word, other): (String, Option<[u8; 16]>) = (row.get(3)?, row.get(4)?);
        Ok((StoreId(row.get(0)?), row.get(1)?, row.get(2)?, word, other, row.get(5)?))
    };
    let broken = |error| Corruption::new("the state of the store", error);
    let (id, revision, rewrites, word, other, label) = read().map_err(broken)?;
    let phase = Phase::from_parts(&word, other.map(StoreId), label)?;
    Ok(StoreState { id, revision, rewrites, phase })
}

/// Replaces the state, except for the rewrites.
fn write(connection: &Connection, new: &StoreState) -> rusqlite::Result<()> {
    let (word, other, label) = new.phase.parts();
    let values = params![new.id.0, new.revision, word, other.map(|other| other.0), label];
    connection.execute(WRITE, values).map(drop)
}

/// Fails if the state of the store does not permit a read of animals. A store with a `version` is open, so its state is
/// not read. The `version` must come from the snapshot of `connection`.
pub(crate) fn permit_read(
    connection: &Connection,
    version: Option<CatalogueVersion>,
    reads_while_sealed: bool,
) -> Result<(), Failure> {
    if version.is_none() {
        state(connection)?.permit_read(reads_while_sealed)?;
    }
    Ok(())
}
