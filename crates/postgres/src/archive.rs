//! [`Archive`] on PostgreSQL, on connections outside of the pool.
//!
//! A transaction that writes rows locks the row of the state first, as every writer of petstore does. If this process
//! is frozen, time limits end the transaction soon. Another program, such as `psql`, locks that row only after its
//! insert. If both insert the same identifiers at once, they may wait for each other; the server then ends one of the
//! two transactions.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    time::Instant,
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, HighestIds, IdempotencyId, IdempotencyRecord,
    IdempotencyRequest, KeyId, NewPet, Pet, PetId, PetStatus, RecordPosition, Resolution, Rows,
    Snapshot, StoreCounts, StoreError, WriterRole,
};

use crate::{
    api_keys as keys,
    connection::{APPENDING_LOCKED, Connection, SNAPSHOT, WRITING},
    connector::Purpose,
    error::StoreFailure,
    handover,
    pets::rows,
    sequences,
    store::PostgresStore,
    values::{Values, column, scalar},
    version::{self, where_state},
};

const COUNTS: &str = "SELECT ARRAY[(SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)]";
/// Selects the highest identifiers of animals and of keys. The sequence holds the last drawn identifier, even if no
/// animal was stored under it. An animal that did not draw its identifier may be above the sequence.
const HIGHEST: &str = "SELECT greatest((SELECT id FROM pet ORDER BY id DESC LIMIT 1), \
       (SELECT last_value FROM pg_catalog.pg_sequences \
        WHERE schemaname = current_schema() AND sequencename = 'pet_id')), nullif(highest_key_id, 0) \
     FROM petstore_state ORDER BY changes DESC LIMIT 1";

/// Limits the batch. If this process is frozen while it holds the lock, the server ends the batch before waiting
/// additions reach their `statement_timeout`.
const LIMIT: &str = "SET LOCAL idle_in_transaction_session_timeout = '3s'; \
     SET LOCAL statement_timeout = '30s'";
const KEPT_OUT: &str = "a trigger or a rule of the database kept an animal out of the table";
/// Inserts the animals that are missing, and counts them.
const WRITE_PETS: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) SELECT DISTINCT ON (u.id) u.* \
       FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS u (id, name, category_id, status) \
       ORDER BY u.id ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM added";
/// Selects one of the given animals that is stored with other values, or not at all.
const OTHER_PET: &str = "SELECT u.id \
       FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS u (id, name, category_id, status) \
       LEFT JOIN LATERAL (SELECT name, category_id, status FROM pet WHERE id = u.id LIMIT 1) p ON true \
     WHERE (p.name, p.category_id, p.status) IS DISTINCT FROM (u.name, u.category_id, u.status) LIMIT 1";
/// Adds animals under the next identifiers. Returns the first identifier, and how many animals were stored.
const ADD_PETS: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) SELECT nextval('pet_id'), u.* \
       FROM unnest($1::text[], $2::bigint[], $3::text[]) u RETURNING id) SELECT min(id), count(*) FROM added";
/// Sets the version to `$1` unless `$1` is null, and raises the highest identifier of keys to `$2`.
const RENEW: &str = concat!(
    "UPDATE petstore_state SET version = coalesce($1::bytea, version), changes = changes + 1, \
     highest_key_id = greatest(highest_key_id, $2::bigint)",
    where_state!(),
    "RETURNING version, changes"
);
const WRITE_RECORDS: &str = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        // The first statement takes the snapshot.
        let rows = transaction.query(HIGHEST, &[]).await?;
        let missing = || StoreError::corrupt("the state of the store", "petstore_state has a row");
        let row = rows.first().ok_or_else(missing)?;
        let id = |column| row.try_get::<_, Option<i64>>(column).map_err(StoreFailure::from);
        let highest = HighestIds { pet: id(0)?.map(PetId), key: id(1)?.map(KeyId) };
        Ok(Box::new(PostgresSnapshot { transaction, highest }))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let Rows { pets, keys, records, highest } = &rows;
        let transaction = self.begin_writing(WRITING, writer).await?;
        let added = write_pets(&transaction, pets).await?;
        transaction.query(sequences::RAISE, &[&highest.pet.map_or(0, |id| id.0)]).await?;
        write_keys(&transaction, keys).await?;
        write_records(&transaction, records).await?;
        self.commit(&transaction, added > 0, highest.key).await?;
        Ok(added)
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        // A role without the right to read the sequence can still import.
        if sequences::are_behind(&self.pool).await.unwrap_or(false) {
            sequences::raise(&self.pool).await?;
        }
        let transaction = self.begin_writing(APPENDING_LOCKED, WriterRole::Service).await?;
        let added = add_pets(&transaction, &pets, request.as_ref()).await?;
        self.commit(&transaction, added > 0, None).await?;
        Ok(added)
    }
}

impl PostgresStore {
    /// Begins a transaction, locks the row of the state, and checks that `writer` may write. The row's trigger would
    /// refuse the write too, but only after identifiers were drawn, and a rollback does not return them.
    async fn begin_writing(
        &self,
        begin: &str,
        writer: WriterRole,
    ) -> Result<Connection, ArchiveError> {
        let mover = match writer {
            WriterRole::Mover(revision) => revision.to_string(),
            WriterRole::Service => String::new(),
        };
        let begin = format!("{begin}; SET LOCAL petstore.mover = '{mover}'; {LIMIT}");
        let transaction = self.pool.begin(Purpose::Archive, &begin).await?;
        transaction.query(version::LOCK, &[]).await?;
        let state = transaction.query(handover::STATE, &[]).await?;
        handover::from_row(state.first()).map_err(StoreError::from)?.permit_write(writer)?;
        Ok(transaction)
    }

    /// Sets a new version of the catalogue if `has_added`, raises the highest identifier of keys to `highest`, and
    /// commits.
    async fn commit(
        &self,
        transaction: &Connection,
        has_added: bool,
        highest: Option<KeyId>,
    ) -> Result<(), StoreFailure> {
        // Updates the row even if nothing changed, because its trigger refuses a writer that the phase of the store
        // does not permit.
        let version = has_added.then(version::random).transpose()?;
        let renewed = transaction.query(RENEW, &[&version, &highest.map(|id| id.0)]).await?;
        let began = Instant::now();
        transaction.commit().await?;
        if let Ok(stored) = version::from_row(renewed.first()) {
            self.tasks.version.observe(stored, began);
        }
        Ok(())
    }
}

/// An open transaction that sees one state of the store.
struct PostgresSnapshot {
    transaction: Connection,
    /// The highest identifiers. A snapshot does not freeze sequences, so the first statement of the transaction reads
    /// them.
    highest: HighestIds,
}

#[async_trait]
impl Snapshot for PostgresSnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let counts: Vec<i64> = scalar(&self.transaction.query(COUNTS, &[]).await?)?;
        let count = |kind: usize| counts.get(kind).map_or(0, |count| count.unsigned_abs());
        Ok(StoreCounts { pets: count(0), keys: count(1), records: count(2) })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        Ok(self.highest)
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let first = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1));
        let Some(first) = first else { return Ok(Vec::new()) };
        let rows = self.transaction.query(rows::FROM, &[&first, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| rows::pet(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        keys::keys(&self.transaction.query(keys::ALL, &[]).await?)
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        // Every id is above the empty id.
        let (pet, id) =
            after.as_ref().map_or((i64::MIN, &[][..]), |RecordPosition { pet, id }| (pet.0, &id.0));
        let rows =
            self.transaction.query(rows::RECORDS_AFTER, &[&pet, &id, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| rows::record(row, 0)).collect::<Result<_, _>>()?)
    }
}

/// Writes animals with their identifiers. Returns how many are new.
async fn write_pets(transaction: &Connection, pets: &[Pet]) -> Result<u64, ArchiveError> {
    let ids: Vec<i64> = pets.iter().map(|pet| pet.id.0).collect();
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    let categories: Vec<i64> = pets.iter().map(|pet| pet.category_id.0).collect();
    let statuses: Vec<_> = pets.iter().map(|pet| pet.status.map(PetStatus::as_str)).collect();
    let values: Values<'_> = &[&ids, &names, &categories, &statuses];
    let added: i64 = scalar(&transaction.query(WRITE_PETS, values).await?)?;
    let added = added.unsigned_abs();
    // Existing rows must equal the given animals.
    if added < pets.len() as u64
        && let Some(&id) = column(&transaction.query(OTHER_PET, values).await?)?.first()
    {
        return Err(ArchiveError::OtherPet(PetId(id)));
    }
    Ok(added)
}

/// Adds animals in their order. Returns how many were added: none if the request is a repeat.
async fn add_pets(
    transaction: &Connection,
    pets: &[NewPet],
    request: Option<&IdempotencyRequest>,
) -> Result<u64, ArchiveError> {
    if pets.is_empty() {
        return Ok(0);
    }
    if let Some(request) = request {
        let stored = stored_records(transaction, vec![&request.id.0]).await?;
        if Resolution::of_new_pets(stored.get(&request.id), request)? == Resolution::Keep {
            return Ok(0);
        }
    }
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    let categories: Vec<i64> = pets.iter().map(|pet| pet.category_id.0).collect();
    let statuses: Vec<_> = pets.iter().map(|pet| pet.status.map(PetStatus::as_str)).collect();
    let added = transaction.query(ADD_PETS, &[&names, &categories, &statuses]).await?;
    let stored = added.first().and_then(|row| row.try_get::<_, i64>(1).ok());
    if stored != i64::try_from(pets.len()).ok() {
        return Err(StoreError::refused(KEPT_OUT).into());
    }
    if let Some(request) = request {
        replace_records(transaction, [request.into_record(PetId(scalar(&added)?))]).await?;
    }
    Ok(pets.len() as u64)
}

/// Writes API keys under their own identifiers. The lock of the state prevents other changes of keys meanwhile.
async fn write_keys(transaction: &Connection, keys: &[ApiKey]) -> Result<(), ArchiveError> {
    if keys.is_empty() {
        // Even a statement without rows would fire the trigger that changes the revision.
        return Ok(());
    }
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let found = transaction.query(keys::BY_ID_OR_DIGEST, &[&ids, &digests]).await?;
    let mut stored: BTreeMap<KeyId, ApiKey> =
        keys::keys(&found)?.into_iter().map(|key| (key.id, key)).collect();
    for key in keys {
        let owner = stored.values().find(|stored| stored.digest == key.digest);
        let owner = owner.map(|stored| stored.id);
        let resolved = Resolution::of_key(stored.get(&key.id), owner, key)?;
        stored.insert(resolved.id, resolved);
    }
    let resolved: Vec<ApiKey> = stored.into_values().collect();
    keys::write(transaction, &resolved).await?;
    let ids: Vec<i64> = resolved.iter().map(|key| key.id.0).collect();
    let times: Vec<_> = resolved.iter().map(|key| key.last_used_at.map(|at| at.0)).collect();
    transaction.query(keys::NOTE_USES, &[&ids, &times]).await?;
    Ok(())
}

/// Writes records. The lock of the state prevents other changes of records meanwhile.
async fn write_records(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<(), ArchiveError> {
    if records.is_empty() {
        return Ok(());
    }
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let stored = stored_records(transaction, ids).await?;
    let mut changed = BTreeMap::new();
    for record in records {
        let known = changed.get(&record.id).or(stored.get(&record.id));
        if Resolution::of_record(known, record)? == Resolution::Write {
            changed.insert(record.id, *record);
        }
    }
    Ok(replace_records(transaction, changed.into_values()).await?)
}

/// Writes records, and replaces records with the same ids.
async fn replace_records(
    transaction: &Connection,
    records: impl IntoIterator<Item = IdempotencyRecord>,
) -> Result<(), StoreFailure> {
    let records: Vec<_> = records.into_iter().collect();
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let fingerprints: Vec<&[u8]> = records.iter().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
    let times: Vec<i64> = records.iter().map(|record| record.at.0).collect();
    transaction.query(WRITE_RECORDS, &[&ids, &fingerprints, &pets, &times]).await.map(drop)
}

/// Returns the stored records with these ids.
async fn stored_records(
    transaction: &Connection,
    ids: Vec<&[u8]>,
) -> Result<HashMap<IdempotencyId, IdempotencyRecord>, ArchiveError> {
    let rows = transaction.query(rows::RECORDS, &[&ids]).await?;
    let records = rows.iter().map(|row| rows::record(row, 0).map(|record| (record.id, record)));
    Ok(records.collect::<Result<_, _>>().map_err(StoreError::from)?)
}
