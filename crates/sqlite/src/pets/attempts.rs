//! Rows of the table `idempotency`.

use petstore_domain::{IdempotencyRequest, PetId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

pub(crate) const FIND: &str = "SELECT fingerprint, pet_id FROM idempotency \
     WHERE caller = ?1 AND key = ?2 AND created_at > ?3";
/// Replaces a record that no longer counts; one that does has been found before.
pub(crate) const RECORD: &str = "INSERT OR REPLACE INTO idempotency \
     (caller, key, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const FORGET: &str = "DELETE FROM idempotency WHERE (caller, key) IN \
     (SELECT caller, key FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";

/// A record that still counts.
pub(super) struct Record {
    /// As it was stored: of 32 bytes, unless somebody else wrote it.
    pub(super) fingerprint: Vec<u8>,
    pub(super) pet: PetId,
}

pub(super) fn find(
    connection: &Connection,
    attempt: &IdempotencyRequest,
) -> rusqlite::Result<Option<Record>> {
    let IdempotencyRequest { idempotency, cutoff: expired, .. } = attempt;
    let record =
        |row: &rusqlite::Row<'_>| Ok(Record { fingerprint: row.get(0)?, pet: PetId(row.get(1)?) });
    connection
        .prepare_cached(FIND)?
        .query_row(params![idempotency.caller.0, idempotency.key.as_str(), expired.0], record)
        .optional()
}

pub(super) fn record(
    connection: &Connection,
    attempt: &IdempotencyRequest,
    pet: PetId,
) -> rusqlite::Result<()> {
    let IdempotencyRequest { idempotency, fingerprint, at, .. } = attempt;
    connection.prepare_cached(RECORD)?.execute(params![
        idempotency.caller.0,
        idempotency.key.as_str(),
        fingerprint.0,
        pet.0,
        at.0
    ])?;
    Ok(())
}

/// Forgets up to `at_most` records from `expired` or before, the oldest first.
pub(super) fn forget(
    connection: &Connection,
    expired: Timestamp,
    at_most: u32,
) -> rusqlite::Result<u32> {
    let forgotten = connection.prepare_cached(FORGET)?.execute(params![expired.0, at_most])?;
    Ok(u32::try_from(forgotten).unwrap_or(at_most))
}
