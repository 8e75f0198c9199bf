//! One transaction that writes what another store held.
//!
//! Where none of the animals can be there yet, they are written by a binary `COPY`, which takes a quarter of
//! the time of an `INSERT` from arrays (`docs/PERFORMANCE.md`). It can neither pass over a row that is
//! there nor be used in a session that a pooler shares out: there the `INSERT` serves.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyId, IdempotencyRecord, KeyDigest, KeyId, NewPet, Pet, PetId, Purged,
    Resolution, Restore, RestoreError, StoreError,
};

use crate::{
    api_keys::rows as keys,
    connection::Connection,
    error::StoreFailure,
    pets::{
        idempotency,
        rows::{self, Columns},
    },
    relocation::rows as relocation,
    sequences,
    values::{Value, Values, column, scalar},
    version::{self, StoredVersion},
    version_cache::VersionCache,
};

/// Identifiers that were assigned elsewhere must not meet those that an instance assigns now, so
/// no one else adds anything from the first of them until the commit. As that holds up every writer,
/// the server ends a restore that sends nothing for longer than a batch may take elsewhere.
const LOCK: &str = "SET LOCAL idle_in_transaction_session_timeout = '5min'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";

const COPY: &str = "COPY pet (id, name, category_id, status) FROM STDIN (FORMAT binary)";
const COPY_NEW: &str = "COPY pet (name, category_id, status) FROM STDIN (FORMAT binary)";
/// In the order of the index, so that it is never looked for in all of the table.
const FIND_FIRST: &str = "SELECT id FROM pet WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT 1";
/// Inserts those that are not there, and counts them.
const INSERT: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) \
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
       ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM added";
const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ANY($1)";
const EXISTING_PETS: &str = "SELECT id FROM pet WHERE id = ANY($1)";

const FIND_RECORDS: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ANY($1)";
const WRITE_RECORDS: &str = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at";

/// A transaction that is still open.
#[derive(Debug)]
pub(crate) struct Restoring {
    transaction: Connection,
    version: Arc<VersionCache>,
    began: Instant,
    /// Whether others are kept from writing.
    locked: bool,
    /// Whether the catalogue is another one than before.
    changed: bool,
}

#[async_trait]
impl Restore for Restoring {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.lock().await?;
        let mut columns = Columns::default();
        for Pet { id, name, category_id, status } in &pets {
            columns.push(Some(*id), name, *category_id, *status);
        }
        let copied = if self.are_new(&pets).await? { self.copy(&columns).await? } else { None };
        let added = match copied {
            Some(added) => added,
            None => self.merge(&pets, &columns).await?,
        };
        self.changed |= added > 0;
        Ok(added)
    }

    /// Rows are copied one by one, so identifiers are assigned in their order.
    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.changed |= !pets.is_empty();
        let mut columns = Columns::default();
        for NewPet { name, category_id, status } in &pets {
            columns.push(None, name, *category_id, *status);
        }
        let Columns { ids, names, categories, statuses } = &columns;
        let rows = (0..pets.len())
            .map(|row| -> [&dyn Value; 3] { [&names[row], &categories[row], &statuses[row]] });
        if self.transaction.copy(COPY_NEW, rows).await?.is_none() {
            self.transaction.query(rows::INSERT, &[ids, names, categories, statuses]).await?;
        }
        Ok(())
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.lock().await?;
        let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
        let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
        let found = self.transaction.query(keys::BY_ID_OR_DIGEST, &[&ids, &digests]).await?;
        let mut stored: BTreeMap<KeyId, ApiKey> = BTreeMap::new();
        let mut owners: HashMap<KeyDigest, KeyId> = HashMap::new();
        for key in keys::keys(&found)? {
            owners.insert(key.digest, key.id);
            stored.insert(key.id, key);
        }
        for key in &keys {
            let owner = owners.get(&key.digest).copied();
            let resolved = Resolution::of_key(stored.get(&key.id), owner, key)?;
            owners.insert(resolved.digest, resolved.id);
            stored.insert(resolved.id, resolved);
        }
        let resolved: Vec<ApiKey> = stored.into_values().collect();
        Ok(keys::write(&self.transaction, &resolved).await?)
    }

    /// Writes records whose animals are there. The lock keeps others from changing one meanwhile.
    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.lock().await?;
        let pets: Vec<i64> = records.iter().map(|record| record.pet.0).collect();
        let pets = self.transaction.query(EXISTING_PETS, &[&pets]).await?;
        let pets: Vec<i64> = column(&pets)?;
        let pets: HashSet<i64> = pets.into_iter().collect();
        let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
        let mut stored = HashMap::new();
        for row in self.transaction.query(FIND_RECORDS, &[&ids]).await? {
            let record = idempotency::record(&row).map_err(StoreError::from)?;
            stored.insert(record.id, record);
        }
        let mut changed = BTreeMap::new();
        for record in &records {
            let pet_exists = pets.contains(&record.pet.0);
            match Resolution::of_record(stored.get(&record.id), pet_exists, record)? {
                Resolution::Keep => {}
                Resolution::Write => {
                    stored.insert(record.id, *record);
                    changed.insert(record.id, *record);
                }
            }
        }
        Ok(self.write_records(&changed).await?)
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.locked {
            self.transaction.batch(sequences::RAISE).await?;
        }
        let mut renewed = Vec::new();
        if self.changed {
            let version = version::random()?;
            renewed = self.transaction.query(version::RENEW, &[&Some(version.as_slice())]).await?;
        }
        self.transaction.commit().await?;
        if let Ok(stored) = StoredVersion::from_row(renewed.first()) {
            self.version.observe(stored, self.began);
        }
        Ok(())
    }
}

impl Restoring {
    pub(crate) fn new(transaction: Connection, version: Arc<VersionCache>) -> Self {
        Self { transaction, version, began: Instant::now(), locked: false, changed: false }
    }

    /// Deletes records that the other store of a move has purged.
    pub(crate) async fn purge(&self, purged: &Purged) -> Result<(), StoreFailure> {
        let values: Values<'_> = &[&purged.before.0, &purged.up_to.0, &i64::from(Purged::LIMIT)];
        self.transaction.query(relocation::PURGE, values).await.map(drop)
    }

    async fn lock(&mut self) -> Result<(), StoreFailure> {
        if !self.locked {
            self.transaction.batch(LOCK).await?;
            self.locked = true;
        }
        Ok(())
    }

    /// Whether they ascend, and none is there in their range.
    async fn are_new(&self, pets: &[Pet]) -> Result<bool, StoreFailure> {
        let [first, .., last] = pets else { return Ok(false) };
        if !pets.is_sorted_by(|one, next| one.id < next.id) {
            return Ok(false);
        }
        Ok(self.transaction.query(FIND_FIRST, &[&first.id.0, &last.id.0]).await?.is_empty())
    }

    async fn copy(&self, columns: &Columns<'_>) -> Result<Option<u64>, StoreFailure> {
        let Columns { ids, names, categories, statuses } = columns;
        let rows = (0..ids.len()).map(|row| -> [&dyn Value; 4] {
            [&ids[row], &names[row], &categories[row], &statuses[row]]
        });
        self.transaction.copy(COPY, rows).await
    }

    /// Writes those that are not there, and compares the others: each must be there as it was given. Returns how
    /// many were not there. The lock keeps others from adding one meanwhile.
    async fn merge(&self, pets: &[Pet], columns: &Columns<'_>) -> Result<u64, RestoreError> {
        let Columns { ids, names, categories, statuses } = columns;
        let rows = self.transaction.query(INSERT, &[ids, names, categories, statuses]).await?;
        let added: i64 = scalar(&rows)?;
        if usize::try_from(added) != Ok(pets.len()) {
            let mut stored: HashMap<PetId, Pet> = HashMap::new();
            for row in self.transaction.query(FIND, &[ids]).await? {
                let pet = rows::pet(&row, 0).map_err(StoreError::from)?;
                stored.insert(pet.id, pet);
            }
            for pet in pets {
                Resolution::of_pet(stored.get(&pet.id), pet)?;
            }
        }
        Ok(u64::try_from(added).unwrap_or_default())
    }

    async fn write_records(
        &self,
        records: &BTreeMap<IdempotencyId, IdempotencyRecord>,
    ) -> Result<(), StoreFailure> {
        let ids: Vec<&[u8]> = records.keys().map(|id| &id.0[..]).collect();
        let fingerprints: Vec<&[u8]> =
            records.values().map(|record| &record.fingerprint.0[..]).collect();
        let pets: Vec<i64> = records.values().map(|record| record.pet.0).collect();
        let times: Vec<i64> = records.values().map(|record| record.at.0).collect();
        let values: Values<'_> = &[&ids, &fingerprints, &pets, &times];
        self.transaction.query(WRITE_RECORDS, values).await.map(drop)
    }
}
