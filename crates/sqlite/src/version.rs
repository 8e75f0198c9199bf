//! The catalogue's version in the file.
//!
//! The schema's triggers renew the version for each row that changes, whoever writes to the file. On the
//! connections of this adapter they are off, and [`VersionRenewal::commit`] renews it once for each
//! transaction in which a row of `pet` has changed: in a group of 50, an addition takes 35 % fewer
//! instructions in SQLite. Such a connection commits by that alone. SQLite does not report the rows of a
//! `DELETE` without `WHERE`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use petstore_domain::{CatalogueVersion, Corruption, StoreError};
use rusqlite::{Connection, Row, config::DbConfig, hooks::Action};

use crate::{error::Failure, version_cache::VersionCache};

pub(crate) const SELECT: &str = "SELECT version FROM catalogue WHERE only = 1";
pub(crate) const RENEW: &str = "UPDATE catalogue SET version = randomblob(16) WHERE only = 1";

/// The version now.
pub(crate) fn current<E: From<StoreError>>(
    connection: &Connection,
) -> Result<CatalogueVersion, Failure<E>> {
    in_snapshot(connection, Ok)
}

/// Runs `read` in the snapshot that the version is read from.
///
/// SQLite ends a read transaction when the last running statement of the connection ends. `rows` is
/// still running while `read` runs, so both see the same snapshot, and no `BEGIN` is needed.
pub(crate) fn in_snapshot<T, E: From<StoreError>>(
    connection: &Connection,
    read: impl FnOnce(CatalogueVersion) -> Result<T, Failure<E>>,
) -> Result<T, Failure<E>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let version = match rows.next()? {
        Some(row) => from_column(row, 0)?,
        None => return Err(missing().into()),
    };
    read(version)
}

/// The version in `column` of a row.
pub(crate) fn from_column(row: &Row<'_>, column: usize) -> Result<CatalogueVersion, Corruption> {
    let bytes: [u8; 16] = row.get(column).map_err(|_| missing())?;
    Ok(CatalogueVersion(u128::from_be_bytes(bytes)))
}

fn missing() -> Corruption {
    Corruption::new("the version of the catalogue", "there is one, of 16 bytes")
}

/// Renews the version at the end of the transactions of one connection.
#[derive(Debug)]
pub(crate) struct VersionRenewal {
    pets_changed: Arc<AtomicBool>,
}

impl VersionRenewal {
    /// Takes the place of the triggers on `connection`.
    pub(crate) fn new(connection: &mut Connection) -> rusqlite::Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let pets_changed = Arc::new(AtomicBool::new(false));
        let changed = Arc::clone(&pets_changed);
        connection.update_hook(Some(move |_: Action, _: &str, table: &str, _: i64| {
            if table == "pet" {
                changed.store(true, Ordering::Relaxed);
            }
        }))?;
        Ok(Self { pets_changed })
    }

    /// Commits the open transaction of `connection`, with a new version if an animal has changed, and
    /// publishes that version.
    pub(crate) fn commit(
        &self,
        connection: &Connection,
        versions: &VersionCache,
    ) -> rusqlite::Result<()> {
        if !self.pets_changed.swap(false, Ordering::Relaxed) {
            return connection.execute_batch("COMMIT");
        }
        connection.prepare_cached(RENEW)?.execute([])?;
        let version = current::<StoreError>(connection).ok();
        let moment = versions.moment();
        let committed = connection.execute_batch("COMMIT");
        versions.publish(moment, version.filter(|_| committed.is_ok()));
        committed
    }
}
