//! The row of `petstore_state`.

use petstore_domain::{CatalogueVersion, Corruption, Phase, StoreId, StoreState, WriterRole};
use rusqlite::{Connection, Row, params};

use crate::{connection::Statements, error::Failure};

pub(crate) const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM petstore_state WHERE only = 1";
const WRITE: &str = "UPDATE petstore_state SET revision = ?2, state = ?3, other = ?4, label = ?5, \
     renamed_from = CASE identity WHEN ?1 THEN renamed_from \
     ELSE hex(identity) || hex(version) || hex(key_revision) END, identity = ?1, \
     version = CASE ?3 WHEN 'open' THEN randomblob(16) ELSE zeroblob(0) END WHERE only = 1";

/// Selects one row if the store is open, otherwise none.
pub(crate) const IS_OPEN: &str = "SELECT 1 FROM petstore_state WHERE only = 1 AND state = 'open'";

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
pub(super) fn write(connection: &Connection, new: &StoreState) -> rusqlite::Result<()> {
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
