//! Writes many rows in one transaction on a connection outside of the pool.
//!
//! The transaction locks the row of the state first, as every writer does. Its time limits end it soon if this process is
//! frozen. If another program writes the same rows at the same time, the server refuses one of the two transactions.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    iter,
    time::Instant,
};

use petstore_domain::{
    ApiKey, ArchiveError, IdempotencyId, IdempotencyRecord, IdempotencyRequest, KeyDigest, KeyId,
    NewPet, Pet, PetId, PetStatus, Resolution, StoreError, WriterRole,
};

use crate::{
    api_keys::rows as keys,
    connection::Connection,
    connector::Purpose,
    error::StoreFailure,
    handover,
    pets::{
        addition::{self, Additions},
        idempotency,
    },
    store::PostgresStore,
    values::{Values, column, scalar},
    version::{self, where_state},
};

/// Limits the batch. If this process is frozen while it holds the lock, the server ends the batch before waiting additions
/// reach their `statement_timeout`.
const LIMIT: &str = "SET LOCAL idle_in_transaction_session_timeout = '3s'; \
     SET LOCAL statement_timeout = '30s'";
/// Inserts the animals that are missing, and counts them.
const WRITE_PETS: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) SELECT DISTINCT ON (u.id) u.* \
       FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS u (id, name, category_id, status) \
       ORDER BY u.id ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM added";
/// Selects a given animal that is stored with other values, or not at all.
const OTHER_PET: &str = "SELECT u.id \
       FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS u (id, name, category_id, status) \
       LEFT JOIN LATERAL (SELECT name, category_id, status FROM pet WHERE id = u.id LIMIT 1) p ON true \
     WHERE (p.name, p.category_id, p.status) IS DISTINCT FROM (u.name, u.category_id, u.status) LIMIT 1";
/// Sets the version, if `$1` is one, and raises the highest identifier of keys.
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

/// An open transaction that writes animals. Dropping it rolls it back.
pub(super) struct Begun {
    pub(super) transaction: Connection,
    at: Instant,
}

impl Begun {
    /// Begins the transaction, locks the row of the state, and checks that `writer` may write. The row's trigger would refuse
    /// the commit too, but a sequence keeps the identifiers that were drawn.
    pub(super) async fn new(
        store: &PostgresStore,
        begin: &str,
        writer: WriterRole,
    ) -> Result<Self, ArchiveError> {
        let mover = if let WriterRole::Mover(revision) = writer {
            revision.to_string()
        } else {
            String::new()
        };
        let begin = format!("{begin}; SET LOCAL petstore.mover = '{mover}'; {LIMIT}");
        let at = Instant::now();
        let transaction = store.pool.begin(Purpose::Archive, &begin).await?;
        let state = transaction.query(handover::LOCK, &[]).await?;
        handover::from_row(state.first()).map_err(StoreError::from)?.permit_write(writer)?;
        Ok(Self { transaction, at })
    }

    /// Commits, with a new catalogue version if `has_added`.
    pub(super) async fn commit(
        self,
        store: &PostgresStore,
        has_added: bool,
        highest: Option<KeyId>,
    ) -> Result<(), StoreFailure> {
        // Updates the row even if nothing changed, because its trigger refuses a store that is no longer open.
        let version = has_added.then(version::random).transpose()?;
        let version = version.as_ref().map(<[u8; 16]>::as_slice);
        let values: Values<'_> = &[&version, &highest.map(|id| id.0)];
        let renewed = self.transaction.query(RENEW, values).await?;
        self.transaction.commit().await?;
        if let Ok(stored) = version::from_row(renewed.first()) {
            store.tasks.version.observe(stored, self.at);
        }
        Ok(())
    }
}

/// Writes animals with their identifiers. Returns how many are new.
pub(super) async fn write_pets(
    transaction: &Connection,
    pets: &[Pet],
) -> Result<u64, ArchiveError> {
    let ids: Vec<i64> = pets.iter().map(|pet| pet.id.0).collect();
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    let categories: Vec<i64> = pets.iter().map(|pet| pet.category_id.0).collect();
    let statuses: Vec<_> = pets.iter().map(|pet| pet.status.map(PetStatus::as_str)).collect();
    let values: Values<'_> = &[&ids, &names, &categories, &statuses];
    let added: i64 = scalar(&transaction.query(WRITE_PETS, values).await?)?;
    let added = added.unsigned_abs();
    // Existing rows must equal the given ones.
    if added < pets.len() as u64
        && let Some(&id) = column(&transaction.query(OTHER_PET, values).await?)?.first()
    {
        return Err(ArchiveError::OtherPet(PetId(id)));
    }
    Ok(added)
}

/// Adds animals in their order. Returns how many were added: none if the request is a repeat.
pub(super) async fn add_pets(
    transaction: &Connection,
    pets: &[NewPet],
    request: Option<&IdempotencyRequest>,
) -> Result<u64, ArchiveError> {
    if pets.is_empty() {
        return Ok(0);
    }
    if let Some(request) = request {
        let ids = vec![&request.id.0[..]];
        transaction.query(idempotency::PURGE_IDS, &[&ids, &vec![request.cutoff.0]]).await?;
        let stored = stored_records(transaction, ids).await?;
        if Resolution::of_new_pets(stored.get(&request.id), request)? == Resolution::Keep {
            return Ok(0);
        }
    }
    // The record of the request is stored with the first animal.
    let requests = iter::once(request).chain(iter::repeat(None));
    let additions = Additions::new(pets.iter().zip(requests))?;
    for row in transaction.query(addition::ADD, &additions.values()).await? {
        if let Some(Err(refusal)) = addition::outcome(&row).map_err(StoreFailure::from)? {
            return Err(StoreError::from(refusal).into());
        }
    }
    Ok(pets.len() as u64)
}

/// Writes API keys under their own identifiers. The lock of the state keeps them from changing meanwhile.
pub(super) async fn write_keys(
    transaction: &Connection,
    keys: &[ApiKey],
) -> Result<(), ArchiveError> {
    if keys.is_empty() {
        // The trigger of an empty statement would change the revision.
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
    keys::write(transaction, &resolved).await?;
    let used = resolved.iter().filter_map(|key| Some((key.id.0, key.last_used_at?.0)));
    let (ids, times): (Vec<i64>, Vec<i64>) = used.unzip();
    transaction.query(keys::NOTE_USES, &[&ids, &times]).await?;
    Ok(())
}

/// Writes records. The lock of the state keeps them from changing meanwhile.
pub(super) async fn write_records(
    transaction: &Connection,
    records: &[IdempotencyRecord],
) -> Result<(), ArchiveError> {
    if records.is_empty() {
        return Ok(());
    }
    let ids: Vec<&[u8]> = records.iter().map(|record| &record.id.0[..]).collect();
    let mut stored = stored_records(transaction, ids).await?;
    let mut changed = BTreeMap::new();
    for record in records {
        if Resolution::of_record(stored.get(&record.id), record)? == Resolution::Write {
            stored.insert(record.id, *record);
            changed.insert(record.id, *record);
        }
    }
    let changed: Vec<IdempotencyRecord> = changed.into_values().collect();
    let ids: Vec<&[u8]> = changed.iter().map(|record| &record.id.0[..]).collect();
    let fingerprints: Vec<&[u8]> = changed.iter().map(|record| &record.fingerprint.0[..]).collect();
    let pets: Vec<i64> = changed.iter().map(|record| record.pet.0).collect();
    let times: Vec<i64> = changed.iter().map(|record| record.at.0).collect();
    transaction.query(WRITE_RECORDS, &[&ids, &fingerprints, &pets, &times]).await?;
    Ok(())
}

/// Returns the stored records with these ids.
async fn stored_records(
    transaction: &Connection,
    ids: Vec<&[u8]>,
) -> Result<HashMap<IdempotencyId, IdempotencyRecord>, ArchiveError> {
    let rows = transaction.query(idempotency::FIND, &[&ids]).await?;
    let records = rows.iter().map(|row| idempotency::record(row).map(|record| (record.id, record)));
    Ok(records.collect::<Result<_, _>>().map_err(StoreError::from)?)
}
