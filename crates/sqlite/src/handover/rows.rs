//! The state of the store, in its row of `catalogue`.
//!
//! **Older releases** do not know the columns. Their writers look for a table `relocation` when the schema has
//! changed, so a store that is not open has one, which keeps them out.

use petstore_domain::{
    CatalogueVersion, Changes, Corruption, IdempotencyRecord, PetId, Phase, StoreError, StoreId,
    StoreState, Writer,
};
use rusqlite::{Connection, Row, params};

use crate::{
    error::Failure,
    pets::{idempotency, rows as pets},
};

const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only = 1";
const CHANGE: &str = "UPDATE catalogue SET identity = ?2, revision = ?3, state = ?4, other = ?5, label = ?6, \
     version = CASE ?4 WHEN 'open' THEN randomblob(16) ELSE zeroblob(0) END \
     WHERE only = 1 AND revision = ?1";

/// What keeps older releases out.
const LEGACY: &str = "CREATE TABLE IF NOT EXISTS relocation (only INTEGER PRIMARY KEY, role TEXT, \
     revision INTEGER, peer TEXT, differences INTEGER, last_difference TEXT)";
const LEGACY_ROW: &str = "REPLACE INTO relocation VALUES (1, 'moved', 0, ?1, 0, NULL)";
const NO_LEGACY: &str = "DROP TABLE IF EXISTS relocation";
pub(crate) const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at \
     FROM idempotency WHERE pet_id BETWEEN ?1 AND ?2";

/// Returns the state.
pub(crate) fn state(connection: &Connection) -> Result<StoreState, Failure<StoreError>> {
    let row = connection.prepare_cached(STATE)?.query_row([], |row| Ok(from_row(row)))?;
    Ok(row?)
}

fn from_row(row: &Row<'_>) -> Result<StoreState, Corruption> {
    let read = || -> rusqlite::Result<_> {
        let (word, other): (String, Option<[u8; 16]>) = (row.get(3)?, row.get(4)?);
        let phase = Phase::from_parts(&word, other.map(StoreId), row.get(5)?);
        Ok((StoreId(row.get(0)?), row.get(1)?, row.get(2)?, phase))
    };
    let broken = |rule: &str| Corruption::new("the state of the store", rule);
    let (id, revision, rewrites, phase) = read().map_err(|error| broken(&error.to_string()))?;
    let phase = phase.ok_or_else(|| broken("it is open, filling or sealed"))?;
    Ok(StoreState { id, revision, rewrites, phase })
}

/// Replaces the state if it has this revision.
pub(super) fn change(
    connection: &Connection,
    expected: i64,
    new: &StoreState,
) -> rusqlite::Result<bool> {
    let (word, other, label) = new.phase.parts();
    let (id, other) = (new.id.0, other.map(|other| other.0));
    let values = params![expected, id, new.revision, word, other, label];
    if connection.execute(CHANGE, values)? == 0 {
        return Ok(false);
    }
    if matches!(new.phase, Phase::Open { .. }) {
        connection.execute_batch(NO_LEGACY)?;
    } else {
        connection.execute_batch(LEGACY)?;
        connection.execute(LEGACY_ROW, [label.unwrap_or("another store")])?;
    }
    Ok(true)
}

/// Refuses what `writer` may not write. The write lock must be held.
pub(crate) fn permit(connection: &Connection, writer: Writer) -> Result<(), Failure<StoreError>> {
    state(connection)?.permit(writer).map_err(Failure::Answer)
}

/// Refuses a read of what has no version, unless the store is sealed and sealed ones are read. `version` must be of
/// the same snapshot.
pub(crate) fn permit_read(
    connection: &Connection,
    version: Option<CatalogueVersion>,
    while_sealed: bool,
) -> Result<(), Failure<StoreError>> {
    if version.is_some() {
        return Ok(());
    }
    let state = state(connection)?;
    if while_sealed && matches!(state.phase, Phase::Sealed { .. }) {
        return Ok(());
    }
    state.permit(Writer::Service).map_err(Failure::Answer)
}

/// Returns the animals above `after`, with their records.
pub(super) fn changes(
    connection: &Connection,
    after: Option<PetId>,
    limit: u32,
) -> Result<Changes, Failure<StoreError>> {
    let pets = pets::after(connection, after, limit)?;
    let mut records: Vec<IdempotencyRecord> = Vec::new();
    if let (Some(first), Some(last)) = (pets.first(), pets.last()) {
        let mut statement = connection.prepare_cached(RECORDS)?;
        let mut rows = statement.query([first.id.0, last.id.0])?;
        while let Some(row) = rows.next()? {
            records.push(idempotency::record(row)?);
        }
    }
    Ok(Changes { pets, records })
}
