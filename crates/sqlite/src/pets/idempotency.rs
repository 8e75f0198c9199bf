//! Rows of the table `idempotency`.

use std::fmt::Display;

use petstore_domain::{
    Corruption, Fingerprint, Idempotency, IdempotencyKey, IdempotencyRecord, KeyDigest, PetId,
    StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row, params, types::FromSql};

use crate::error::Failure;

pub(crate) const FIND: &str = "SELECT caller, key, fingerprint, pet_id, created_at \
     FROM idempotency WHERE caller = ?1 AND key = ?2";
/// The digest of a caller and a key compare by their bytes (`BINARY`), as the port wants it.
pub(crate) const AFTER: &str = "SELECT caller, key, fingerprint, pet_id, created_at \
     FROM idempotency WHERE (caller, key) > (?1, ?2) ORDER BY caller, key LIMIT ?3";
pub(crate) const WRITE: &str = "INSERT OR REPLACE INTO idempotency \
     (caller, key, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE (caller, key) IN \
     (SELECT caller, key FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";

/// The record of a caller and a key.
pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    Idempotency { caller, key }: &Idempotency,
) -> Result<Option<IdempotencyRecord>, Failure<E>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let found = statement.query_row(params![caller.0, key.as_str()], |row| Ok(record(row)));
    Ok(found.optional()?.transpose()?)
}

/// Up to `limit` records behind `after`, in the order of [`Idempotency::sort_key`].
pub(crate) fn after(
    connection: &Connection,
    after: Option<&Idempotency>,
    limit: u32,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    // No caller is shorter than 32 bytes, so every one is behind the empty one.
    let (caller, key) =
        after.map_or((&[][..], ""), |after| (after.caller.0.as_slice(), after.key.as_str()));
    let mut statement = connection.prepare_cached(AFTER)?;
    let mut rows = statement.query(params![caller, key, limit])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(record(row)?);
    }
    Ok(records)
}

/// Stores a record, in place of the one of its caller and key if there is one.
pub(crate) fn write(connection: &Connection, record: &IdempotencyRecord) -> rusqlite::Result<()> {
    let IdempotencyRecord { idempotency, fingerprint, pet, at } = record;
    let (caller, key) = idempotency.sort_key();
    let values = params![caller, key, fingerprint.0, pet.0, at.0];
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

/// The record of a row, through the domain's constructors.
pub(crate) fn record(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
    let key: String = column(row, 1)?;
    let key = IdempotencyKey::parse(key).map_err(|rule| broken(format_args!("its key {rule}")))?;
    Ok(IdempotencyRecord {
        idempotency: Idempotency { caller: KeyDigest(digest(row, 0)?), key },
        fingerprint: Fingerprint(digest(row, 2)?),
        pet: PetId(column(row, 3)?),
        at: Timestamp(column(row, 4)?),
    })
}

fn digest(row: &Row<'_>, index: usize) -> Result<[u8; 32], Corruption> {
    let bytes: Vec<u8> = column(row, index)?;
    bytes.try_into().map_err(|_| broken("a digest has 32 bytes"))
}

fn column<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, Corruption> {
    row.get(index).map_err(broken)
}

fn broken(rule: impl Display) -> Corruption {
    Corruption::new("an idempotency record", rule)
}
