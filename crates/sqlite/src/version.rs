//! The catalogue's mark.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use petstore_domain::{CatalogueVersion, Corruption, StoreError};
use rusqlite::{Connection, Row, config::DbConfig, hooks::Action};

use crate::error::{Failure, corruption};

pub(crate) const SELECT: &str = "SELECT version FROM catalogue WHERE only = 1";
/// The mark, and one that never was.
pub(crate) const SELECT_NEXT: &str = "SELECT version, randomblob(16) FROM catalogue WHERE only = 1";
/// What the triggers of the schema do, once for a whole transaction.
pub(crate) const RENEW: &str = "UPDATE catalogue SET version = ?1 WHERE only = 1";

/// The mark now.
pub(crate) fn current<E: From<StoreError>>(
    connection: &Connection,
) -> Result<CatalogueVersion, Failure<E>> {
    in_snapshot(connection, Ok)
}

/// Runs `read` in the snapshot that the mark is read from.
///
/// SQLite ends a read transaction when the last statement of the connection that has begun ends.
/// `rows` has not ended while `read` runs, so both see the same snapshot, and no `BEGIN` is needed.
pub(crate) fn in_snapshot<T, E: From<StoreError>>(
    connection: &Connection,
    read: impl FnOnce(CatalogueVersion) -> Result<T, Failure<E>>,
) -> Result<T, Failure<E>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let mark = match rows.next()? {
        Some(row) => of(row, 0)?,
        None => return Err(missing().into()),
    };
    read(mark)
}

/// The mark in `column` of a row.
pub(crate) fn of(row: &Row<'_>, column: usize) -> Result<CatalogueVersion, Corruption> {
    let bytes: [u8; 16] = row.get(column).map_err(|_| missing())?;
    Ok(CatalogueVersion(u128::from_be_bytes(bytes)))
}

fn missing() -> Corruption {
    corruption("the mark of the catalogue", "there is one, of 16 bytes")
}

/// What a transaction has made of the mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// `None` if it could not be read.
    pub(crate) before: Option<CatalogueVersion>,
    pub(crate) after: CatalogueVersion,
}

/// Renews the mark at the end of each transaction of one connection that has changed an animal.
///
/// The schema's triggers do so too, for whoever writes to the file by other means, but once for
/// each row; on this connection they are off.
#[derive(Debug)]
pub(crate) struct Renewal {
    changed: Arc<AtomicBool>,
}

impl Renewal {
    pub(crate) fn of(connection: &mut Connection) -> rusqlite::Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let changed = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&changed);
        connection.update_hook(Some(move |_: Action, _: &str, table: &str, _: i64| {
            if table == "pet" {
                noted.store(true, Ordering::Relaxed);
            }
        }))?;
        Ok(Self { changed })
    }

    /// To be called last before the commit. `None` if no animal has changed.
    pub(crate) fn renew(&self, connection: &Connection) -> rusqlite::Result<Option<Change>> {
        if !self.changed.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        let (before, after) = connection
            .prepare_cached(SELECT_NEXT)?
            .query_row([], |row| Ok((of(row, 0).ok(), row.get::<_, [u8; 16]>(1)?)))?;
        connection.prepare_cached(RENEW)?.execute([after])?;
        Ok(Some(Change { before, after: CatalogueVersion(u128::from_be_bytes(after)) }))
    }
}
