//! Reading a store as a whole.

use petstore_domain::{
    Corruption, Fingerprint, Idempotency, IdempotencyKey, IdempotencyRecord, KeyDigest, Pet, PetId,
    StoreCounts, StoreError, Timestamp,
};
use rusqlite::{Connection, Row, params, types::FromSql};

use crate::{
    error::{Failure, corruption},
    pets::rows::pet,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";
const PETS: &str = "SELECT id, name, category_id, status FROM pet \
     WHERE id >= ?1 ORDER BY id LIMIT ?2";
/// The digest of a caller and a key compare by their bytes (`BINARY`), as the port wants it.
const ATTEMPTS: &str = "SELECT caller, key, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (caller, key) > (?1, ?2) ORDER BY caller, key LIMIT ?3";

pub(super) fn counts(connection: &Connection) -> Result<StoreCounts, Failure<StoreError>> {
    let count = |row: &Row<'_>, index| row.get(index).map(i64::unsigned_abs);
    let counts = connection.prepare_cached(COUNTS)?.query_row([], |row| {
        Ok(StoreCounts {
            pets: count(row, 0)?,
            keys: count(row, 1)?,
            idempotency_records: count(row, 2)?,
        })
    })?;
    Ok(counts)
}

pub(super) fn pets(
    connection: &Connection,
    after: Option<PetId>,
    at_most: u32,
) -> Result<Vec<Pet>, Failure<StoreError>> {
    let from = match after {
        None => i64::MIN,
        Some(PetId(i64::MAX)) => return Ok(Vec::new()),
        Some(PetId(id)) => id + 1,
    };
    let mut statement = connection.prepare_cached(PETS)?;
    let mut rows = statement.query(params![from, at_most])?;
    let mut pets = Vec::new();
    while let Some(row) = rows.next()? {
        pets.push(pet(row)?);
    }
    Ok(pets)
}

pub(super) fn attempts(
    connection: &Connection,
    after: Option<&Idempotency>,
    at_most: u32,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    // No caller is shorter than 32 bytes, so every one stands behind the empty one.
    let (caller, key) =
        after.map_or((&[][..], ""), |after| (after.caller.0.as_slice(), after.key.as_str()));
    let mut statement = connection.prepare_cached(ATTEMPTS)?;
    let mut rows = statement.query(params![caller, key, at_most])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        attempts.push(attempt(row)?);
    }
    Ok(attempts)
}

/// The record of a row, through the doors of the domain.
pub(super) fn attempt(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
    let key: String = column(row, 1)?;
    let key = IdempotencyKey::parse(key).map_err(|rule| broken(format!("its key {rule}")))?;
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

fn broken(rule: impl std::fmt::Display) -> Corruption {
    corruption("an idempotency record", rule)
}
