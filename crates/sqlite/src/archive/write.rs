//! One batch, as one transaction on a connection of its own.

use std::{path::Path, thread};

use petstore_domain::{
    ApiKey, Batch, IdempotencyRecord, Pet, Resolution, RestoreError, StoreError, Written,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    api_keys::rows as keys,
    config::{BusyTimeout, Synchronous},
    connection,
    error::Failure,
    handover::rows as handover,
    pets::{
        idempotency::{self, recent::RecentRecords},
        rows as pets,
    },
    version::VersionRenewal,
    version_cache::VersionCache,
    writer::FREE,
};

/// What a batch may keep in memory before it writes pages to the log, in KiB.
const PAGE_CACHE: i64 = 64 * 1024;

/// Writes the batch with full synchronisation, whatever the store was opened with: batches are few, so it
/// costs next to nothing.
pub(super) fn write(
    path: &Path,
    versions: &VersionCache,
    batch: Batch,
) -> Result<Written, Failure<RestoreError>> {
    let timeout = BusyTimeout::default().writer;
    let mut connection = connection::open_writer(path, Synchronous::Full, timeout)?;
    connection.pragma_update(None, "cache_size", -PAGE_CACHE)?;
    let renewal = VersionRenewal::new(&mut connection)?;
    // One batch may follow another at once, and would keep other writers from the lock, which has no queue.
    thread::sleep(FREE);
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
    handover::permit(&transaction, batch.writer).map_err(refused)?;
    let rewrites = i64::from(!batch.pets.is_empty());
    let mut recent = RecentRecords::default();
    let added = write_rows(&transaction, &mut recent, batch)?;
    recent.index(&transaction)?;
    renewal.commit(&transaction, versions, rewrites)?;
    Ok(Written { added })
}

fn refused(failure: Failure<StoreError>) -> Failure<RestoreError> {
    Failure::Answer(failure.into_error().into())
}

fn write_rows(
    connection: &Connection,
    recent: &mut RecentRecords,
    batch: Batch,
) -> Result<u64, Failure<RestoreError>> {
    let Batch { writer: _, pets, new_pets, request, keys, records, assign_above } = batch;
    let mut added = 0;
    for pet in &pets {
        added += u64::from(write_pet(connection, pet)?);
    }
    if let Some(id) = assign_above {
        pets::assign_above(connection, id)?;
    }
    let stored = match &request {
        Some(request) => idempotency::find(connection, recent, request.id)?,
        None => None,
    };
    let resolution = request
        .as_ref()
        .map_or(Ok(Resolution::Write), |request| Resolution::of_new_pets(stored.as_ref(), request));
    if resolution.map_err(Failure::Answer)? == Resolution::Write {
        added += new_pets.len() as u64;
        let mut request = request;
        for pet in new_pets {
            let pet = pets::insert(connection, pet)?;
            if let Some(request) = request.take() {
                let record = request.into_record(pet.id);
                idempotency::write(connection, recent, stored.as_ref(), &record)?;
            }
        }
    }
    keys.iter().try_for_each(|key| write_key(connection, key))?;
    if !keys.is_empty() {
        keys::renew(connection)?;
    }
    records.iter().try_for_each(|record| write_record(connection, recent, record))?;
    Ok(added)
}

/// Returns whether the animal was added.
fn write_pet(connection: &Connection, pet: &Pet) -> Result<bool, Failure<RestoreError>> {
    if pets::restore(connection, pet)? {
        return Ok(true);
    }
    let stored = pets::find::<RestoreError>(connection, pet.id)?;
    Resolution::of_pet(stored.as_ref(), pet).map_err(Failure::Answer)?;
    Ok(false)
}

fn write_key(connection: &Connection, key: &ApiKey) -> Result<(), Failure<RestoreError>> {
    let stored = keys::find(connection, key.id)?;
    let digest_owner = keys::digest_owner(connection, &key.digest)?;
    let resolved =
        Resolution::of_key(stored.as_ref(), digest_owner, key).map_err(Failure::Answer)?;
    Ok(keys::write(connection, &[resolved])?)
}

fn write_record(
    connection: &Connection,
    recent: &mut RecentRecords,
    record: &IdempotencyRecord,
) -> Result<(), Failure<RestoreError>> {
    let stored = idempotency::find(connection, recent, record.id)?;
    let pet_exists = pets::find::<RestoreError>(connection, record.pet)?.is_some();
    match Resolution::of_record(stored.as_ref(), pet_exists, record).map_err(Failure::Answer)? {
        Resolution::Keep => Ok(()),
        Resolution::Write => Ok(idempotency::write(connection, recent, stored.as_ref(), record)?),
    }
}
