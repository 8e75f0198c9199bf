//! One batch, as one transaction on a connection outside of the pool.
//!
//! Its animals are uploaded into a temporary table, by a binary `COPY` or, where a pooler shares the session out, by an
//! `INSERT` from arrays, which takes the server twice as long. Only then does it lock the row of the catalogue, as every
//! writer does first: others wait for the server's work, not for the network, nor for this process if it is frozen
//! meanwhile. Where somebody writes the same rows past petstore, one of both is refused.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::PoisonError,
    time::Instant,
};

use petstore_domain::{
    ApiKey, Batch, Handover as _, IdempotencyId, IdempotencyRecord, IdempotencyRequest, KeyDigest,
    KeyId, NewPet, Pet, PetId, PetStatus, Resolution, RestoreError, StoreError, Writer, Written,
};
use tokio_postgres::types::{ToSql, Type};

use crate::{
    api_keys::rows as keys,
    connection::{APPENDING, Connection, WRITING},
    connector::Purpose,
    error::StoreFailure,
    pets::idempotency,
    sequences,
    store::PostgresStore,
    values::{Values, column, scalar},
    version,
};

/// Should this process be frozen while it holds the lock, the server ends the batch, before the additions that wait for
/// it end by their own `statement_timeout`.
const LIMIT: &str = "SET LOCAL idle_in_transaction_session_timeout = '3s'; \
     SET LOCAL statement_timeout = '30s'";
/// Animals by their place in the batch. A new one has no identifier.
const UPLOAD: &str = "CREATE TEMPORARY TABLE upload (place bigint, id bigint, name text, category_id bigint, \
     status text) ON COMMIT DROP";
const COPY: &str = "COPY upload FROM STDIN (FORMAT binary)";
const COLUMNS: [Type; 5] = [Type::INT8, Type::INT8, Type::TEXT, Type::INT8, Type::TEXT];
const COPY_ARRAYS: &str = "INSERT INTO upload SELECT * FROM \
     unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])";
/// Adds those with identifiers, and counts them.
macro_rules! insert {
    ($condition:literal, $conflict:literal) => {
        concat!(
            "WITH added AS (INSERT INTO pet (id, name, category_id, status) \
               SELECT DISTINCT ON (id) id, name, category_id, status FROM upload WHERE id IS NOT NULL AND ",
            $condition,
            " ORDER BY id ",
            $conflict,
            " RETURNING 1) SELECT count(*) FROM added"
        )
    };
}

/// Where none is there in their range, which takes two thirds of the time. It is looked for in the order of the index,
/// so that the server never reads all of the table for it.
const INSERT: &str = insert!(
    "(SELECT id FROM pet WHERE id BETWEEN (SELECT min(id) FROM upload) AND (SELECT max(id) FROM upload) \
      ORDER BY id LIMIT 1) IS NULL",
    ""
);
/// Those that are not there.
const MERGE: &str = insert!("true", "ON CONFLICT DO NOTHING");
/// One that is there otherwise than it was given.
const OTHER: &str = "SELECT u.id FROM upload u, \
       LATERAL (SELECT name, category_id, status FROM pet WHERE id = u.id LIMIT 1) p \
     WHERE (p.name, p.category_id, p.status) IS DISTINCT FROM (u.name, u.category_id, u.status) LIMIT 1";
/// Adds those without identifiers, and returns the first identifier.
const ADD: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) \
       SELECT nextval('pet_id'), name, category_id, status \
       FROM (SELECT * FROM upload WHERE id IS NULL ORDER BY place) u \
       RETURNING id) SELECT min(id) FROM added";
const EXISTING: &str = "SELECT id FROM pet WHERE id = ANY($1)";
const WRITE_RECORDS: &str = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

pub(super) async fn write(store: &PostgresStore, batch: &Batch) -> Result<Written, RestoreError> {
    let Batch { writer, pets, new_pets, request, keys, records, assign_above } = batch;
    // The row's trigger refuses the commit, too.
    store.state().await?.permit(*writer)?;
    // A role that may not read or raise it may import all the same, if it need not.
    if sequences::are_behind(&store.pool).await.unwrap_or(false) {
        sequences::raise(&store.pool).await?;
    }
    let began = Instant::now();
    let appends =
        pets.is_empty() && keys.is_empty() && records.is_empty() && assign_above.is_none();
    let transaction = begin(store, if appends { APPENDING } else { WRITING }).await?;
    if let Writer::Mover(revision) = writer {
        transaction.batch(&format!("SET LOCAL petstore.mover = '{revision}'")).await?;
    }
    transaction.batch(LIMIT).await?;
    upload(&transaction, pets, new_pets).await?;
    transaction.query(version::LOCK, &[]).await?;
    let mut added = write_pets(&transaction, pets.len()).await?;
    if !appends {
        transaction.query(sequences::RAISE, &[&assign_above.map(|id| id.0)]).await?;
    }
    added += add_pets(&transaction, new_pets.len(), request.as_ref()).await?;
    write_keys(&transaction, keys).await?;
    write_records(&transaction, records).await?;
    // Also where nothing has changed: the row's trigger refuses it if the store is not open any more.
    let version = (added > 0).then(version::random).transpose()?;
    let version = version.as_ref().map(<[u8; 16]>::as_slice);
    let renewed = transaction.query(version::RENEW, &[&version]).await?;
    transaction.commit().await?;
    *store.archive.lock().unwrap_or_else(PoisonError::into_inner) = Some(transaction);
    if let Ok(stored) = version::from_row(renewed.first()) {
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

/// Sends the animals to the server.
async fn upload(
    transaction: &Connection,
    pets: &[Pet],
    new_pets: &[NewPet],
) -> Result<(), StoreFailure> {
    if pets.is_empty() && new_pets.is_empty() {
        return Ok(());
    }
    transaction.batch(UPLOAD).await?;
    let pets = pets.iter().map(|pet| (Some(pet.id.0), &pet.name, pet.category_id, pet.status));
    let new_pets = new_pets.iter().map(|pet| (None, &pet.name, pet.category_id, pet.status));
    let rows = (0_i64..).zip(pets.chain(new_pets));
    let rows: Vec<_> = rows
        .map(|(place, (id, name, category, status))| {
            (place, id, name.as_str(), category.0, status.map(PetStatus::as_str))
        })
        .collect();
    let values = rows.iter().map(|(place, id, name, category, status)| {
        [place as &(dyn ToSql + Sync), id, name, category, status]
    });
    if transaction.copy(COPY, &COLUMNS, values).await? {
        return Ok(());
    }
    let places: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let ids: Vec<Option<i64>> = rows.iter().map(|row| row.1).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.2).collect();
    let categories: Vec<i64> = rows.iter().map(|row| row.3).collect();
    let statuses: Vec<Option<&str>> = rows.iter().map(|row| row.4).collect();
    let values: Values<'_> = &[&places, &ids, &names, &categories, &statuses];
    transaction.query(COPY_ARRAYS, values).await.map(drop)
}

/// Writes the animals that were uploaded with their identifiers; how many were not there before.
async fn write_pets(transaction: &Connection, count: usize) -> Result<u64, RestoreError> {
    if count == 0 {
        return Ok(0);
    }
    let mut added: i64 = scalar(&transaction.query(INSERT, &[]).await?)?;
    if added == 0 {
        added = scalar(&transaction.query(MERGE, &[]).await?)?;
    }
    let added = u64::try_from(added).unwrap_or_default();
    // Those that were there already must be there as they were given.
    if added < count as u64
        && let Some(&id) = column(&transaction.query(OTHER, &[]).await?)?.first()
    {
        return Err(RestoreError::OtherPet(PetId(id)));
    }
    Ok(added)
}

/// Adds the animals that were uploaded without identifiers, in their order; how many, which is none if the request is
/// a repeat.
async fn add_pets(
    transaction: &Connection,
    count: usize,
    request: Option<&IdempotencyRequest>,
) -> Result<u64, RestoreError> {
    if count == 0 {
        return Ok(0);
    }
    if let Some(request) = request {
        let stored = stored_records(transaction, vec![&request.id.0]).await?;
        if Resolution::of_new_pets(stored.get(&request.id), request)? == Resolution::Keep {
            return Ok(0);
        }
    }
    let first: i64 = scalar(&transaction.query(ADD, &[]).await?)?;
    if let Some(request) = request {
        replace_records(transaction, &[request.into_record(PetId(first))]).await?;
    }
    Ok(count as u64)
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
    let changed: Vec<_> = changed.into_values().collect();
    Ok(replace_records(transaction, &changed).await?)
}

/// Writes records in place of those with the same ids.
async fn replace_records(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<(), StoreFailure> {
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let fingerprints: Vec<&[u8]> = records.iter().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
    let times: Vec<i64> = records.iter().map(|record| record.at.0).collect();
    let values: Values<'_> = &[&ids, &fingerprints, &pets, &times];
    transaction.query(WRITE_RECORDS, values).await.map(drop)
}

/// Returns what is stored under these ids.
async fn stored_records(
    transaction: &Connection,
    ids: Vec<&[u8]>,
) -> Result<HashMap<IdempotencyId, IdempotencyRecord>, RestoreError> {
    let rows = transaction.query(idempotency::FIND, &[&ids]).await?;
    let records = rows.iter().map(|row| idempotency::record(row).map(|record| (record.id, record)));
    Ok(records.collect::<Result<_, _>>().map_err(StoreError::from)?)
}
