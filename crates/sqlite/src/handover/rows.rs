//! The row of `petstore_state`.

use petstore_domain::{CatalogueVersion, Corruption, Phase, StoreId, StoreState};
use rusqlite::{Connection, Row};

use crate::error::Failure;

pub(crate) const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM petstore_state WHERE only = 1";
/// Replaces the state, except for the rewrites, and renews or empties the version. A change of the identity notes the
/// former values in `renamed_from`.
pub(super) const WRITE: &str = "UPDATE petstore_state SET revision = ?2, state = ?3, other = ?4, label = ?5, \
     renamed_from = CASE identity WHEN ?1 THEN renamed_from \
     ELSE hex(identity) || hex(version) || hex(key_revision) END, identity = ?1, \
     version = CASE ?3 WHEN 'open' THEN randomblob(16) ELSE zeroblob(0) END WHERE only = 1";

/// Selects one row if the store is open, otherwise none.
pub(crate) const IS_OPEN: &str = "SELECT 1 FROM petstore_state WHERE only = 1 AND state = 'open'";

/// Returns the state.
pub(crate) fn state(connection: &Connection) -> Result<StoreState, Failure> {
    let read = |row: &Row<'_>| Ok(<([u8; 16], _, _, String, Option<[u8; 16]>, _)>::try_from(row));
    let stored = connection.prepare_cached(STATE)?.query_row([], read)?;
    let broken = |error| Corruption::new("the state of the store", error);
    let (id, revision, rewrites, word, other, label) = stored.map_err(broken)?;
    let phase = Phase::from_parts(&word, other.map(StoreId), label)?;
    Ok(StoreState { id: StoreId(id), revision, rewrites, phase })
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
