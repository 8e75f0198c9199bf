//! Idempotency records.

use std::collections::{BTreeMap, HashMap, HashSet};

use petstore_domain::{IdempotencyId, IdempotencyRecord, Resolution, RestoreError, StoreError};

use crate::{connection::Connection, error::StoreFailure, pets::idempotency, values::Values};

const FIND: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ANY($1)";
const EXISTING_PETS: &str = "SELECT id FROM pet WHERE id = ANY($1)";
const WRITE: &str = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

/// Writes records whose animals are there. The lock keeps others from changing one meanwhile.
pub(super) async fn restore(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<(), RestoreError> {
    let pets = existing_pets(transaction, records).await?;
    let mut stored = find(transaction, records).await?;
    let mut changed = BTreeMap::new();
    for record in records {
        let pet_exists = pets.contains(&record.pet.0);
        match Resolution::of_record(stored.get(&record.id), pet_exists, record)? {
            Resolution::Keep => {}
            Resolution::Write => {
                stored.insert(record.id, *record);
                changed.insert(record.id, *record);
            }
        }
    }
    Ok(write(transaction, &changed).await?)
}

async fn existing_pets(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<HashSet<i64>, StoreFailure> {
    let ids: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
    let rows = transaction.query(EXISTING_PETS, &[&ids]).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>();
    Ok(ids?)
}

/// What is stored under the ids of `records`.
async fn find(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<HashMap<IdempotencyId, IdempotencyRecord>, RestoreError> {
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let rows = transaction.query(FIND, &[&ids]).await?;
    let records = rows.iter().map(|row| idempotency::record(row).map(|record| (record.id, record)));
    Ok(records.collect::<Result<_, _>>().map_err(StoreError::from)?)
}

async fn write(
    transaction: &Connection,
    records: &BTreeMap<IdempotencyId, IdempotencyRecord>,
) -> Result<(), StoreFailure> {
    let ids: Vec<&[u8]> = records.keys().map(|id| &id.0[..]).collect();
    let fingerprints: Vec<&[u8]> =
        records.values().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = records.values().map(|record| record.pet.0).collect();
    let times: Vec<i64> = records.values().map(|record| record.at.0).collect();
    let values: Values<'_> = &[&ids, &fingerprints, &pets, &times];
    transaction.query(WRITE, values).await?;
    Ok(())
}
