//! Idempotency records.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use petstore_domain::{IdempotencyRecord, Resolution, RestoreError};

use crate::{
    error::StoreFailure,
    pets::idempotency::{self, RecordKey, record_key},
    transaction::Transaction,
    values::Values,
};

const FIND: &str = "SELECT i.caller, i.key, i.fingerprint, i.pet_id, i.created_at \
     FROM unnest($1::bytea[], $2::bytea[]) AS u (caller, key) \
     JOIN idempotency i ON i.caller = u.caller AND i.key = u.key";
const EXISTING_PETS: &str = "SELECT id FROM pet WHERE id = ANY($1)";
const WRITE: &str = "INSERT INTO idempotency (caller, key, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (caller, key) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

/// Writes records whose animals are there. The lock keeps others from changing one meanwhile.
pub(super) async fn restore(
    transaction: &Transaction,
    records: &[IdempotencyRecord],
) -> Result<(), RestoreError> {
    let pets = existing_pets(transaction, records).await?;
    let found = find(transaction, records).await?;
    let mut stored: BTreeMap<RecordKey<'_>, &IdempotencyRecord> =
        found.iter().map(|record| (record_key(&record.idempotency), record)).collect();
    let mut changed = BTreeSet::new();
    for record in records {
        let key = record_key(&record.idempotency);
        let pet_exists = pets.contains(&record.pet.0);
        match Resolution::of_record(stored.get(&key).copied(), pet_exists, record)? {
            Resolution::Keep => {}
            Resolution::Write => {
                stored.insert(key, record);
                changed.insert(key);
            }
        }
    }
    stored.retain(|key, _| changed.contains(key));
    Ok(write(transaction, &stored).await?)
}

async fn existing_pets(
    transaction: &Transaction,
    records: &[IdempotencyRecord],
) -> Result<HashSet<i64>, StoreFailure> {
    let ids: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
    let rows = transaction.rows(EXISTING_PETS, &[&ids]).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>();
    Ok(ids?)
}

/// What is stored under the keys of `records`.
async fn find(
    transaction: &Transaction,
    records: &[IdempotencyRecord],
) -> Result<Vec<IdempotencyRecord>, RestoreError> {
    let keys = records.iter().map(|record| record_key(&record.idempotency));
    let (callers, keys): (Vec<&[u8]>, Vec<&[u8]>) = keys.unzip();
    let rows = transaction.rows(FIND, &[&callers, &keys]).await?;
    let records = rows.iter().map(idempotency::record).collect::<Result<_, _>>();
    Ok(records?)
}

async fn write(
    transaction: &Transaction,
    records: &BTreeMap<RecordKey<'_>, &IdempotencyRecord>,
) -> Result<(), StoreFailure> {
    let (callers, keys): (Vec<&[u8]>, Vec<&[u8]>) = records.keys().copied().unzip();
    let fingerprints: Vec<&[u8]> =
        records.values().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = records.values().map(|record| record.pet.0).collect();
    let times: Vec<i64> = records.values().map(|record| record.at.0).collect();
    let values: Values<'_> = &[&callers, &keys, &fingerprints, &pets, &times];
    transaction.execute(WRITE, values).await?;
    Ok(())
}
