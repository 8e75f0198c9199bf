//! Rows of the table `idempotency`.

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, PetId, RecordPosition, StoreError,
    Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{connection::Statements, error::Failure};

pub(crate) const FIND: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ?1";
pub(crate) const AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (pet_id, id) > (?1, ?2) ORDER BY pet_id, id LIMIT ?3";
pub(crate) const INSERT: &str =
    "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const DELETE: &str = "DELETE FROM idempotency WHERE id = ?1";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE id IN \
     (SELECT id FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";

/// Returns the record `id`.
pub(crate) fn find<E: From<StoreError>>(
    statements: &mut Statements<'_>,
    id: IdempotencyId,
) -> Result<Option<IdempotencyRecord>, Failure<E>> {
    let found = statements.get(FIND)?.query_row([id.0], |row| Ok(record(row)));
    Ok(found.optional()?.transpose()?)
}

/// Returns up to `limit` records after `after`, in the order of [`RecordPosition`].
pub(crate) fn after(
    connection: &Connection,
    after: Option<RecordPosition>,
    limit: u32,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    // Every id is greater than the empty blob.
    let (pet, id) = after.as_ref().map_or((i64::MIN, &[][..]), |after| (after.pet.0, &after.id.0));
    let mut statement = connection.prepare_cached(AFTER)?;
    let records = statement.query_map(params![pet, id, limit], |row| Ok(record(row)))?;
    records.map(|record| Ok(record??)).collect()
}

/// Stores a record, which replaces `stored`.
pub(crate) fn write(
    statements: &mut Statements<'_>,
    stored: Option<&IdempotencyRecord>,
    record: &IdempotencyRecord,
) -> rusqlite::Result<()> {
    let IdempotencyRecord { id, fingerprint, pet, at } = record;
    if stored.is_some() {
        statements.get(DELETE)?.execute([id.0])?;
    }
    let values = params![id.0, fingerprint.0, pet.0, at.0];
    statements.get(INSERT)?.execute(values).map(drop)
}

/// Deletes up to `limit` records made at or before `cutoff`, the oldest first. Returns their number.
pub(crate) fn purge(
    connection: &Connection,
    cutoff: Timestamp,
    limit: u32,
) -> rusqlite::Result<u32> {
    let deleted = connection.prepare_cached(PURGE)?.execute(params![cutoff.0, limit])?;
    Ok(u32::try_from(deleted).unwrap_or(u32::MAX))
}

/// Returns the record of a row.
fn record(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
    let read = || -> rusqlite::Result<_> {
        Ok(IdempotencyRecord {
            id: IdempotencyId(row.get(0)?),
            fingerprint: Fingerprint(row.get(1)?),
            pet: PetId(row.get(2)?),
            at: Timestamp(row.get(3)?),
        })
    };
    read().map_err(|rule| Corruption::new("an idempotency record", rule))
}
