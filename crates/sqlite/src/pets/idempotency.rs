//! Rows of the table `idempotency`.

pub(crate) mod recent;

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, PetId, StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use self::recent::{RecentRecords, UNINDEXED};
use crate::error::Failure;

/// The record of an id: the row of an entry in the index, or the recent one, `?2`.
pub(crate) const FIND: &str = "SELECT r.id, r.fingerprint, r.pet_id, r.created_at \
     FROM idempotency_index e JOIN idempotency r ON r.seq = e.seq AND r.id = e.id WHERE e.id = ?1 \
     UNION ALL SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE seq = ?2 AND id = ?1";
pub(crate) const DELETE: &str = "DELETE FROM idempotency WHERE id = ?1 AND seq IN \
     (SELECT seq FROM idempotency_index WHERE id = ?1 UNION ALL SELECT ?2) RETURNING id, seq";
/// What has an entry in the order of the index, and among it the rows that may have none yet.
pub(crate) const AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM ( \
     SELECT * FROM (SELECT r.* FROM idempotency_index e \
         JOIN idempotency r ON r.seq = e.seq AND r.id = e.id \
         WHERE e.id > ?1 ORDER BY e.id LIMIT ?2) \
     UNION SELECT * FROM (SELECT r.* FROM idempotency r \
         WHERE r.seq > (SELECT seq FROM sqlite_sequence WHERE name = 'idempotency') - ?3 \
         AND r.id > ?1 ORDER BY r.id LIMIT ?2)) ORDER BY id LIMIT ?2";
pub(crate) const INSERT: &str =
    "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE seq IN \
     (SELECT seq FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2) \
     RETURNING id, seq";
pub(crate) const DELETE_ENTRY: &str = "DELETE FROM idempotency_index WHERE id = ?1 AND seq = ?2";

/// Returns the record `id`.
pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    recent: &mut RecentRecords,
    id: IdempotencyId,
) -> Result<Option<IdempotencyRecord>, Failure<E>> {
    recent.load(connection)?;
    let mut statement = connection.prepare_cached(FIND)?;
    let found = statement.query_row(params![id.0, recent.row(id)], |row| Ok(record(row)));
    Ok(found.optional()?.transpose()?)
}

/// Returns up to `limit` records with ids above `after`, ascending by id.
pub(crate) fn after(
    connection: &Connection,
    after: Option<IdempotencyId>,
    limit: u32,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    // Every id is above the empty one.
    let after = after.as_ref().map_or(&[][..], |after| &after.0);
    let mut statement = connection.prepare_cached(AFTER)?;
    let mut rows = statement.query(params![after, limit, UNINDEXED])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(record(row)?);
    }
    Ok(records)
}

/// Stores a record, in place of `stored`.
pub(crate) fn write(
    connection: &Connection,
    recent: &mut RecentRecords,
    stored: Option<&IdempotencyRecord>,
    record: &IdempotencyRecord,
) -> rusqlite::Result<()> {
    let IdempotencyRecord { id, fingerprint, pet, at } = record;
    recent.load(connection)?;
    if stored.is_some() {
        let row = recent.row(*id);
        delete(connection, recent, DELETE, params![id.0, row])?;
    }
    let values = params![id.0, fingerprint.0, pet.0, at.0];
    let row = connection.prepare_cached(INSERT)?.insert(values)?;
    recent.insert(*id, row);
    Ok(())
}

/// Deletes up to `limit` records from `cutoff` or before, the oldest first; how many.
pub(crate) fn purge(
    connection: &Connection,
    recent: &mut RecentRecords,
    cutoff: Timestamp,
    limit: u32,
) -> rusqlite::Result<u32> {
    delete(connection, recent, PURGE, params![cutoff.0, limit])
}

/// Deletes the rows that `sql` deletes and returns (`id`, `seq`), with all that says where they are; how
/// many.
pub(crate) fn delete(
    connection: &Connection,
    recent: &mut RecentRecords,
    sql: &str,
    values: impl Params,
) -> rusqlite::Result<u32> {
    let mut statement = connection.prepare_cached(sql)?;
    let deleted = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut deleted: Vec<(Vec<u8>, i64)> = deleted.collect::<rusqlite::Result<_>>()?;
    // In the order of the index.
    deleted.sort_unstable();
    for (id, row) in &deleted {
        connection.prepare_cached(DELETE_ENTRY)?.execute(params![id, row])?;
        recent.remove(id);
    }
    Ok(u32::try_from(deleted.len()).unwrap_or(u32::MAX))
}

/// Returns the record of a row.
pub(crate) fn record(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
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
