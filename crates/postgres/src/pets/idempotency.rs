//! Rows of the table `idempotency`.

use std::fmt;

use petstore_domain::{
    Fingerprint, IdempotencyId, IdempotencyRecord, Pet, PetId, StoreError, Timestamp,
};
use tokio_postgres::{Row, types::FromSql};

use super::rows;
use crate::transaction::in_writing;

/// Deletes the expired ones among the records with these ids. They are found by their index whatever the server
/// takes the size of the table to be: a join may be planned to read all of it.
pub(crate) const PURGE_IDS: &str = "DELETE FROM idempotency AS i WHERE i.id = ANY($1::bytea[]) \
     AND i.created_at <= (SELECT max(u.cutoff) FROM unnest($1::bytea[], $2::bigint[]) AS u (id, cutoff) \
       WHERE u.id = i.id)";
/// Reserves ids together with an animal's identifier for each. Whoever else has begun to reserve one of
/// them is waited for: if that commits, the id is not among those returned.
pub(crate) const RESERVE: &str = concat!(
    "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT u.id, u.fingerprint, nextval('pet_id'), u.created_at \
     FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS u (id, fingerprint, created_at) WHERE ",
    in_writing!(),
    " ON CONFLICT (id) DO NOTHING RETURNING id, pet_id"
);
/// The records with these ids, with their animals, found by their index likewise.
pub(crate) const FIND: &str = "SELECT i.id, i.fingerprint, i.pet_id, i.created_at, \
       p.id, p.name, p.category_id, p.status \
     FROM idempotency i LEFT JOIN LATERAL \
       (SELECT id, name, category_id, status FROM pet WHERE id = i.pet_id LIMIT 1) p ON true \
     WHERE i.id = ANY($1)";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE id IN \
     (SELECT id FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";

/// The record in the first four columns of a row.
pub(crate) fn record(row: &Row) -> Result<IdempotencyRecord, StoreError> {
    let pet = row.try_get(2).map(PetId);
    let pet = pet.map_err(|error| StoreError::corrupt("an idempotency record", error))?;
    Ok(IdempotencyRecord {
        id: IdempotencyId(bytes(row, 0, pet, "its id has 16 bytes")?),
        fingerprint: Fingerprint(bytes(row, 1, pet, "its fingerprint has 32 bytes")?),
        pet,
        at: Timestamp(column(row, 3, pet)?),
    })
}

/// The animal of a record, in the four columns behind it.
pub(crate) fn pet_of_record(row: &Row, record: &IdempotencyRecord) -> Result<Pet, StoreError> {
    if matches!(row.try_get::<_, Option<i64>>(4), Ok(None)) {
        return Err(corrupt(record.pet, "it exists"));
    }
    rows::pet(row, 4)
}

fn bytes<const N: usize>(
    row: &Row,
    index: usize,
    pet: PetId,
    rule: &str,
) -> Result<[u8; N], StoreError> {
    column::<&[u8]>(row, index, pet)?.try_into().map_err(|_| corrupt(pet, rule))
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize, pet: PetId) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| corrupt(pet, error))
}

fn corrupt(pet: PetId, rule: impl fmt::Display) -> StoreError {
    StoreError::corrupt(format_args!("an idempotency record of animal {pet}"), rule)
}
