//! The catalogue's mark, read in the same snapshot as the data that it marks.

use petstore_domain::{CatalogueVersion, Corruption, Versioned};
use rusqlite::{Connection, Row};

use crate::error::{Failure, corruption};

pub(crate) const SELECT: &str = "SELECT version FROM catalogue WHERE only = 1";

/// The mark now.
pub(crate) fn current<E: From<Corruption>>(
    connection: &Connection,
) -> Result<CatalogueVersion, Failure<E>> {
    in_snapshot(connection, Ok)
}

/// Runs `read` in one snapshot with the mark, and returns what it returns under that mark.
pub(crate) fn versioned<T, E: From<Corruption>>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Failure<E>>,
) -> Result<Versioned<T>, Failure<E>> {
    in_snapshot(connection, |mark| Ok(Versioned { value: read(connection)?, version: Some(mark) }))
}

/// SQLite ends a read transaction when the last statement of the connection that has begun ends.
/// `rows` has not ended while `read` runs, so both see the same snapshot, and no `BEGIN` is needed.
fn in_snapshot<T, E: From<Corruption>>(
    connection: &Connection,
    read: impl FnOnce(CatalogueVersion) -> Result<T, Failure<E>>,
) -> Result<T, Failure<E>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let mark = decode(rows.next()?)?;
    read(mark)
}

fn decode(row: Option<&Row<'_>>) -> Result<CatalogueVersion, Corruption> {
    row.and_then(|row| row.get(0).ok())
        .map(|bytes: [u8; 16]| CatalogueVersion(u128::from_be_bytes(bytes)))
        .ok_or_else(|| corruption("the mark of the catalogue", "there is one, of 16 bytes"))
}
