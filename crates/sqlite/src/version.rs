//! The catalogue's version in the file.
//!
//! The schema's triggers renew the version for each row that another program changes. All triggers, also the
//! operator's, are off on the connections of petstore's writes. There, [`renew`] renews the version once for each
//! transaction: an addition in a group of 50 takes 35 % fewer instructions than with triggers.

use petstore_domain::{CatalogueVersion, Corruption};
use petstore_storage::StoredVersion;
use rusqlite::{Connection, Row, Statement};

use crate::{connection::Statements, error::Failure};

pub(crate) const SELECT: &str = "SELECT version FROM petstore_state WHERE only = 1";
/// Selects the version and three numbers. Each change of an animal or of the state increases one of them, so the later
/// of two versions has the larger sum.
pub(crate) const SELECT_STORED: &str = "SELECT version, revision, rewrites, \
     (SELECT seq FROM sqlite_sequence WHERE name = 'pet') FROM petstore_state WHERE only = 1";
/// Renews the version. A store that is not open keeps its empty version.
pub(crate) const RENEW: &str = "UPDATE petstore_state SET \
     version = CASE state WHEN 'open' THEN randomblob(16) ELSE version END, rewrites = rewrites + ?1 \
     WHERE only = 1";

/// Returns the current version.
pub(crate) fn current(connection: &Connection) -> Result<StoredVersion, Failure> {
    read(&mut *connection.prepare_cached(SELECT_STORED)?)
}

fn read(statement: &mut Statement<'_>) -> Result<StoredVersion, Failure> {
    let mut rows = statement.query([])?;
    let row = rows.next()?.ok_or_else(missing)?;
    let number = |index| row.get::<_, Option<i64>>(index).ok().flatten().unwrap_or(0);
    let changes = number(1).saturating_add(number(2)).saturating_add(number(3));
    Ok(StoredVersion { version: of_column(row, 0)?, changes })
}

/// Renews the version at the end of a transaction that has changed animals. `rewrites` is 0 if it has only added
/// animals, otherwise 1.
pub(crate) fn renew(
    statements: &mut Statements<'_>,
    rewrites: i64,
) -> Result<StoredVersion, Failure> {
    // `RETURNING` would take 11,000 more instructions, because SQLite makes a temporary table for it.
    statements.get(RENEW)?.execute([rewrites])?;
    read(statements.get(SELECT_STORED)?)
}

/// Returns the version in a column; `None` if the store is not open.
pub(crate) fn of_column(
    row: &Row<'_>,
    index: usize,
) -> Result<Option<CatalogueVersion>, Corruption> {
    let bytes = row.get_ref(index).ok().and_then(|value| value.as_blob().ok());
    match bytes.ok_or_else(missing)? {
        [] => Ok(None),
        bytes => {
            let bytes = bytes.try_into().map_err(|_| missing())?;
            Ok(Some(CatalogueVersion(u128::from_be_bytes(bytes))))
        }
    }
}

/// Returns the error for a store without a valid version.
pub(crate) fn missing() -> Corruption {
    Corruption::new("the version of the catalogue", "the version is present and has 16 bytes")
}
