//! The catalogue's version in the file.

use petstore_domain::{CatalogueVersion, Corruption, StoreError};
use rusqlite::{Connection, Row};

use crate::error::Failure;

pub(crate) const SELECT: &str = "SELECT version FROM catalogue WHERE only = 1";

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
