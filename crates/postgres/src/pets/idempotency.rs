//! Rows of the table `idempotency`.

use std::fmt;

use petstore_domain::{
    Fingerprint, Idempotency, IdempotencyKey, IdempotencyRecord, KeyDigest, Pet, PetId, StoreError,
    Timestamp,
};
use tokio_postgres::{Error, Row, types::FromSql};

use super::rows;

/// Deletes the expired ones among the records of these keys.
pub(crate) const PURGE_KEYS: &str = "DELETE FROM idempotency AS i \
     USING unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS u (caller, key, cutoff) \
     WHERE i.caller = u.caller AND i.key = u.key AND i.created_at <= u.cutoff";
/// Reserves keys together with an identifier for each. Whoever else has begun to reserve one of
/// them is waited for: if that commits, the key is not among those returned.
pub(crate) const RESERVE: &str = "INSERT INTO idempotency \
     (caller, key, fingerprint, pet_id, created_at) \
     SELECT u.caller, u.key, u.fingerprint, nextval('pet_id'), u.created_at \
     FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[]) \
       AS u (caller, key, fingerprint, created_at) \
     ON CONFLICT (caller, key) DO NOTHING RETURNING caller, key, pet_id";
/// The records of these keys, with their animals.
pub(crate) const FIND: &str = "SELECT i.caller, i.key, i.fingerprint, i.pet_id, i.created_at, \
       p.id, p.name, p.category_id, p.status \
     FROM unnest($1::bytea[], $2::bytea[]) AS u (caller, key) \
     JOIN idempotency i ON i.caller = u.caller AND i.key = u.key \
     LEFT JOIN pet p ON p.id = i.pet_id";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE (caller, key) IN \
     (SELECT caller, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";

/// What a record is found by: the caller's digest and the key, as bytes.
pub(crate) type RecordKey<'a> = (&'a [u8], &'a [u8]);

pub(crate) fn record_key(idempotency: &Idempotency) -> RecordKey<'_> {
    (&idempotency.caller.0, idempotency.key.as_str().as_bytes())
}

/// The key in the first two columns of a row.
pub(crate) fn key_of_row(row: &Row) -> Result<RecordKey<'_>, Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// The record in the first five columns of a row.
pub(crate) fn record(row: &Row) -> Result<IdempotencyRecord, StoreError> {
    let pet = row.try_get(3).map(PetId);
    let pet = pet.map_err(|error| StoreError::corrupt("an idempotency record", error))?;
    let key = str::from_utf8(column(row, 1, pet)?).map_err(|_| corrupt(pet, "its key is ASCII"))?;
    let key = IdempotencyKey::parse(key).map_err(|rule| corrupt(pet, rule))?;
    let caller = KeyDigest(digest(row, 0, pet, "its caller has 32 bytes")?);
    Ok(IdempotencyRecord {
        idempotency: Idempotency { caller, key },
        fingerprint: Fingerprint(digest(row, 2, pet, "its fingerprint has 32 bytes")?),
        pet,
        at: Timestamp(column(row, 4, pet)?),
    })
}

/// The animal of a record, in the four columns behind it.
pub(crate) fn pet_of_record(row: &Row, record: &IdempotencyRecord) -> Result<Pet, StoreError> {
    if matches!(row.try_get::<_, Option<i64>>(5), Ok(None)) {
        return Err(corrupt(record.pet, "it exists"));
    }
    rows::pet(row, 5)
}

fn digest(row: &Row, index: usize, pet: PetId, rule: &str) -> Result<[u8; 32], StoreError> {
    column::<&[u8]>(row, index, pet)?.try_into().map_err(|_| corrupt(pet, rule))
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize, pet: PetId) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| corrupt(pet, error))
}

fn corrupt(pet: PetId, rule: impl fmt::Display) -> StoreError {
    StoreError::corrupt(format_args!("an idempotency record of animal {pet}"), rule)
}
