//! One batch, as one transaction on a connection outside of the pool.
//!
//! Like every writer it locks the row of the catalogue first, so identifiers that were assigned elsewhere do not
//! meet those that an instance assigns now. Where somebody writes the same rows past petstore, one of both is refused.
//!
//! Where no animal can be there yet, they are written by a binary `COPY`, which takes a quarter of the time of an
//! `INSERT` from arrays (`docs/PERFORMANCE.md`). It can neither pass over a row that is there nor be used in a
//! session that a pooler shares out: there the `INSERT` serves.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::PoisonError,
    time::Instant,
};

use petstore_domain::{
    ApiKey, Batch, Handover as _, IdempotencyId, IdempotencyRecord, IdempotencyRequest, KeyDigest,
    KeyId, NewPet, Pet, PetId, Resolution, RestoreError, StoreError, Writer, Written,
};

use crate::{
    api_keys::rows as keys,
    connection::{APPENDING, Connection, READ_COMMITTED, WRITING},
    connector::Purpose,
    error::StoreFailure,
    pets::{
        idempotency,
        rows::{self, Columns},
    },
    sequences,
    store::PostgresStore,
    values::{Value, Values, column, scalar},
    version::{self, StoredVersion},
};

/// Should this process be frozen meanwhile, the server ends the batch.
const LIMIT: &str = "SET LOCAL idle_in_transaction_session_timeout = '10s'; \
     SET LOCAL statement_timeout = '30s'";
const DRAW: &str = "SELECT nextval('pet_id') FROM generate_series(1, $1::bigint)";
const COPY: &str = "COPY pet (id, name, category_id, status) FROM STDIN (FORMAT binary)";
/// In the order of the index, so that it is never looked for in all of the table.
const FIND_FIRST: &str = "SELECT id FROM pet WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT 1";
/// Inserts those that are not there, and counts them.
const MERGE: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) \
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
       ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM added";
const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ANY($1)";
const EXISTING: &str = "SELECT id FROM pet WHERE id = ANY($1)";
const FIND_RECORDS: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ANY($1)";
const RESERVE: &str =
    "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) VALUES ($1, $2, $3, $4)";
const WRITE_RECORDS: &str = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

pub(super) async fn write(store: &PostgresStore, batch: &Batch) -> Result<Written, RestoreError> {
    let Batch { writer, pets, new_pets, request, keys, records, assign_above } = batch;
    // The row's trigger refuses the commit, too.
    store.state().await?.permit(*writer)?;
    // A role that may not read or raise it may import all the same, if it need not.
    if sequences::behind(&store.pool).await.is_ok_and(|behind| !behind.is_empty()) {
        sequences::raise(&store.pool.begin(Purpose::Calls, READ_COMMITTED).await?).await?;
    }
    let began = Instant::now();
    let appends =
        pets.is_empty() && keys.is_empty() && records.is_empty() && assign_above.is_none();
    let start = if appends { APPENDING } else { WRITING };
    let transaction = begin(store, start).await?;
    if let Writer::Mover(revision) = writer {
        transaction.batch(&format!("SET LOCAL petstore.mover = '{revision}'")).await?;
    }
    transaction.batch(LIMIT).await?;
    transaction.query(version::LOCK, &[]).await?;
    let mut added = write_pets(&transaction, pets).await?;
    if !appends {
        transaction.query(sequences::RAISE, &[&assign_above.map(|id| id.0)]).await?;
    }
    added += add_pets(&transaction, new_pets, request.as_ref()).await?;
    write_keys(&transaction, keys).await?;
    write_records(&transaction, records).await?;
    // Also where nothing has changed: the row's trigger refuses it if the store is not open any more.
    let version = (added > 0).then(version::random).transpose()?;
    let version = version.as_ref().map(<[u8; 16]>::as_slice);
    let renewed = transaction.query(version::RENEW, &[&version]).await?;
    transaction.commit().await?;
    *store.archive.lock().unwrap_or_else(PoisonError::into_inner) = Some(transaction);
    if let Ok(stored) = StoredVersion::from_row(renewed.first()) {
        store.version.observe(stored, began);
    }
    Ok(Written { added })
}

/// Begins a transaction on the connection of the last batch, or on a new one. Dropping it rolls it back.
async fn begin(store: &PostgresStore, start: &str) -> Result<Connection, StoreFailure> {
    let kept = store.archive.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(connection) = kept
        && connection.begin(start).await.is_ok()
    {
        return Ok(connection);
    }
    store.pool.begin(Purpose::Archive, start).await
}

/// Writes animals under their own identifiers; how many were not there before.
async fn write_pets(transaction: &Connection, pets: &[Pet]) -> Result<u64, RestoreError> {
    if pets.is_empty() {
        return Ok(0);
    }
    let columns = Columns::from_pets(pets);
    if are_new(transaction, pets).await?
        && let Some(added) = copy(transaction, &columns).await?
    {
        return Ok(added);
    }
    let Columns { ids, names, categories, statuses } = &columns;
    let values: Values<'_> = &[ids, names, categories, statuses];
    let added: i64 = scalar(&transaction.query(MERGE, values).await?)?;
    let added = u64::try_from(added).unwrap_or_default();
    if usize::try_from(added) == Ok(pets.len()) {
        return Ok(added);
    }
    // Some were there already: each must be there as it was given.
    let rows = transaction.query(FIND, &[ids]).await?;
    let stored = rows.iter().map(|row| rows::pet(row, 0).map(|pet| (pet.id, pet)));
    let stored: HashMap<PetId, Pet> = stored.collect::<Result<_, _>>().map_err(StoreError::from)?;
    for pet in pets {
        Resolution::of_pet(stored.get(&pet.id), pet)?;
    }
    Ok(added)
}

/// Whether they ascend, and none is there in their range.
async fn are_new(transaction: &Connection, pets: &[Pet]) -> Result<bool, StoreFailure> {
    let [first, .., last] = pets else { return Ok(false) };
    if !pets.is_sorted_by(|one, next| one.id < next.id) {
        return Ok(false);
    }
    Ok(transaction.query(FIND_FIRST, &[&first.id.0, &last.id.0]).await?.is_empty())
}

async fn copy(
    transaction: &Connection,
    columns: &Columns<'_>,
) -> Result<Option<u64>, StoreFailure> {
    let Columns { ids, names, categories, statuses } = columns;
    let rows = (0..ids.len()).map(|row| -> [&dyn Value; 4] {
        [&ids[row], &names[row], &categories[row], &statuses[row]]
    });
    transaction.copy(COPY, rows).await
}

/// Adds animals under new identifiers, in their order; how many, which is none if the request is a repeat.
async fn add_pets(
    transaction: &Connection,
    pets: &[NewPet],
    request: Option<&IdempotencyRequest>,
) -> Result<u64, RestoreError> {
    if pets.is_empty() {
        return Ok(0);
    }
    let count = i64::try_from(pets.len()).unwrap_or(i64::MAX);
    let ids: Vec<i64> = column(&transaction.query(DRAW, &[&count]).await?)?;
    if let Some(request) = request
        && !reserve(transaction, request, ids.first().copied()).await?
    {
        return Ok(0);
    }
    let mut columns = Columns::default();
    for (id, pet) in ids.into_iter().zip(pets) {
        columns.push(Some(PetId(id)), pet);
    }
    if copy(transaction, &columns).await?.is_none() {
        let Columns { ids, names, categories, statuses } = &columns;
        transaction.query(rows::INSERT, &[ids, names, categories, statuses]).await?;
    }
    Ok(pets.len() as u64)
}

/// Writes the record of a request, of the animal `pet`. `false` if the request is a repeat.
async fn reserve(
    transaction: &Connection,
    request: &IdempotencyRequest,
    pet: Option<i64>,
) -> Result<bool, RestoreError> {
    let (id, cutoff) = (vec![&request.id.0[..]], vec![request.cutoff.0]);
    transaction.query(idempotency::PURGE_IDS, &[&id, &cutoff]).await?;
    let stored = stored_records(transaction, id).await?;
    if Resolution::of_new_pets(stored.get(&request.id), request)? == Resolution::Keep {
        return Ok(false);
    }
    let (id, fingerprint) = (&request.id.0[..], &request.fingerprint.0[..]);
    transaction.query(RESERVE, &[&id, &fingerprint, &pet, &request.at.0]).await?;
    Ok(true)
}

/// Writes keys under their own identifiers. The lock keeps others from changing one meanwhile.
async fn write_keys(transaction: &Connection, keys: &[ApiKey]) -> Result<(), RestoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let found = transaction.query(keys::BY_ID_OR_DIGEST, &[&ids, &digests]).await?;
    let mut stored: BTreeMap<KeyId, ApiKey> = BTreeMap::new();
    let mut owners: HashMap<KeyDigest, KeyId> = HashMap::new();
    for key in keys::keys(&found)? {
        owners.insert(key.digest, key.id);
        stored.insert(key.id, key);
    }
    for key in keys {
        let owner = owners.get(&key.digest).copied();
        let resolved = Resolution::of_key(stored.get(&key.id), owner, key)?;
        owners.insert(resolved.digest, resolved.id);
        stored.insert(resolved.id, resolved);
    }
    let resolved: Vec<ApiKey> = stored.into_values().collect();
    Ok(keys::write(transaction, &resolved).await?)
}

/// Writes records whose animals are there. The lock keeps others from changing one meanwhile.
async fn write_records(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<(), RestoreError> {
    if records.is_empty() {
        return Ok(());
    }
    let pets: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
    let existing: Vec<i64> = column(&transaction.query(EXISTING, &[&pets]).await?)?;
    let existing: HashSet<i64> = existing.into_iter().collect();
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let mut stored = stored_records(transaction, ids).await?;
    let mut changed = BTreeMap::new();
    for record in records {
        let pet_exists = existing.contains(&record.pet.0);
        match Resolution::of_record(stored.get(&record.id), pet_exists, record)? {
            Resolution::Keep => {}
            Resolution::Write => {
                stored.insert(record.id, *record);
                changed.insert(record.id, *record);
            }
        }
    }
    let changed = || changed.values();
    let ids: Vec<&[u8]> = changed().map(|record| &record.id.0[..]).collect();
    let fingerprints: Vec<&[u8]> = changed().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = changed().map(|record| record.pet.0).collect();
    let times: Vec<i64> = changed().map(|record| record.at.0).collect();
    let values: Values<'_> = &[&ids, &fingerprints, &pets, &times];
    transaction.query(WRITE_RECORDS, values).await?;
    Ok(())
}

/// What is stored under these ids.
async fn stored_records(
    transaction: &Connection,
    ids: Vec<&[u8]>,
) -> Result<HashMap<IdempotencyId, IdempotencyRecord>, RestoreError> {
    let rows = transaction.query(FIND_RECORDS, &[&ids]).await?;
    let records = rows.iter().map(|row| idempotency::record(row).map(|record| (record.id, record)));
    Ok(records.collect::<Result<_, _>>().map_err(StoreError::from)?)
}
