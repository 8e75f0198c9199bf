//! [`Restore`] on SQLite: a write transaction.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyRecord, NewPet, Pet, Resolution, Restore, RestoreError, StoreError, Writer,
};
use rusqlite::Connection;

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
};

/// What a restore may keep in memory before it writes pages to the log, in KiB.
const PAGE_CACHE: i64 = 64 * 1024;

/// An open write transaction. Dropping it closes the connection, which rolls it back.
pub(crate) struct WriteTransaction {
    connection: Connection,
    recent: RecentRecords,
    renewal: VersionRenewal,
    versions: Arc<VersionCache>,
}

impl WriteTransaction {
    /// Begins one on the file at `path`, on a connection that writes with full synchronisation,
    /// whatever the store was opened with: a restore commits rarely, so it costs next to nothing.
    /// `writer` must be permitted to write now.
    pub(crate) fn begin(
        path: &Path,
        versions: Arc<VersionCache>,
        writer: Writer,
    ) -> Result<Self, StoreError> {
        let (connection, renewal) = begin(path, writer).map_err(Failure::into_error)?;
        let recent = RecentRecords::default();
        Ok(Self { connection, recent, renewal, versions })
    }

    fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut RecentRecords) -> Result<T, Failure<RestoreError>>,
    ) -> Result<T, RestoreError> {
        work(&self.connection, &mut self.recent).map_err(Failure::into_error)
    }
}

fn begin(path: &Path, writer: Writer) -> Result<(Connection, VersionRenewal), Failure<StoreError>> {
    let timeout = BusyTimeout::default().writer;
    let mut connection = connection::open_writer(path, Synchronous::Full, timeout)?;
    connection.pragma_update(None, "cache_size", -PAGE_CACHE)?;
    let renewal = VersionRenewal::new(&mut connection)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    handover::permit(&connection, writer)?;
    Ok((connection, renewal))
}

#[async_trait]
impl Restore for WriteTransaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.write(|connection, _| {
            let mut added = 0;
            for pet in &pets {
                added += u64::from(restore_pet(connection, pet)?);
            }
            Ok(added)
        })
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.write(|connection, _| {
            for pet in pets {
                pets::insert(connection, pet)?;
            }
            Ok(())
        })
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.write(|connection, _| keys.iter().try_for_each(|key| restore_key(connection, key)))
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.write(|connection, recent| {
            records.iter().try_for_each(|record| restore_record(connection, recent, record))
        })
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.recent.index(&self.connection).map_err(StoreError::unavailable)?;
        let committed = self.renewal.commit(&self.connection, &self.versions, 1);
        committed.map_err(StoreError::unavailable)
    }
}

/// Whether the animal was added.
fn restore_pet(connection: &Connection, pet: &Pet) -> Result<bool, Failure<RestoreError>> {
    if pets::restore(connection, pet)? {
        return Ok(true);
    }
    let stored = pets::find::<RestoreError>(connection, pet.id)?.map(|stored| stored.value);
    Resolution::of_pet(stored.as_ref(), pet).map_err(Failure::Answer)?;
    Ok(false)
}

fn restore_key(connection: &Connection, key: &ApiKey) -> Result<(), Failure<RestoreError>> {
    let stored = keys::find(connection, key.id)?;
    let digest_owner = keys::digest_owner(connection, &key.digest)?;
    let resolved =
        Resolution::of_key(stored.as_ref(), digest_owner, key).map_err(Failure::Answer)?;
    Ok(keys::write(connection, &[resolved])?)
}

fn restore_record(
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
