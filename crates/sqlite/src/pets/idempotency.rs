//! Rows of the table `idempotency`.

use std::fmt::Display;

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, PetId, StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row, params, types::FromSql};

use crate::error::Failure;

pub(crate) const FIND: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ?1";
pub(crate) const AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE id > ?1 ORDER BY id LIMIT ?2";
pub(crate) const WRITE: &str = "INSERT OR REPLACE INTO idempotency \
     (id, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE rowid IN \
     (SELECT rowid FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";

/// The record `id`.
pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    id: IdempotencyId,
) -> Result<Option<IdempotencyRecord>, Failure<E>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let found = statement.query_row([id.0], |row| Ok(record(row)));
    Ok(found.optional()?.transpose()?)
}

/// Up to `limit` records with ids above `after`, ascending by id.
pub(crate) fn after(
    connection: &Connection,
    after: Option<IdempotencyId>,
    limit: u32,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    // Every id is above the empty one.
    let after = after.as_ref().map_or(&[][..], |after| &after.0);
    let mut statement = connection.prepare_cached(AFTER)?;
    let mut rows = statement.query(params![after, limit])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(record(row)?);
    }
    Ok(records)
}

/// Stores a record, in place of the one with its id if there is one.
pub(crate) fn write(connection: &Connection, record: &IdempotencyRecord) -> rusqlite::Result<()> {
    let IdempotencyRecord { id, fingerprint, pet, at } = record;
    let values = params![id.0, fingerprint.0, pet.0, at.0];
    connection.prepare_cached(WRITE)?.execute(values).map(drop)
}

/// Deletes up to `limit` records from `cutoff` or before, the oldest first; how many.
pub(crate) fn purge(
    connection: &Connection,
    cutoff: Timestamp,
    limit: u32,
) -> rusqlite::Result<u32> {
    let purged = connection.prepare_cached(PURGE)?.execute(params![cutoff.0, limit])?;
    Ok(u32::try_from(purged).unwrap_or(limit))
}

/// The record of a row.
pub(crate) fn record(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
    Ok(IdempotencyRecord {
        id: IdempotencyId(column(row, 0)?),
        fingerprint: Fingerprint(column(row, 1)?),
        pet: PetId(column(row, 2)?),
        at: Timestamp(column(row, 3)?),
    })
}

fn column<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, Corruption> {
    row.get(index).map_err(broken)
}

fn broken(rule: impl Display) -> Corruption {
    Corruption::new("an idempotency record", rule)
}
