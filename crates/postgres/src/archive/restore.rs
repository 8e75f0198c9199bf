//! One transaction that writes what another store held.

mod idempotency;
mod keys;
mod pets;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyRecord, NewPet, Pet, Purged, Restore, RestoreError, StoreError,
};

use crate::{
    connection::Connection,
    error::StoreFailure,
    relocation::rows as relocation,
    sequences,
    values::Values,
    version::{self, StoredVersion},
    version_cache::VersionCache,
};

/// Identifiers that were assigned elsewhere must not meet those that an instance assigns now, so
/// no one else adds anything from the first of them until the commit. As that holds up every writer,
/// the server ends a restore that sends nothing for longer than a batch may take elsewhere.
const LOCK: &str = "SET LOCAL idle_in_transaction_session_timeout = '5min'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";

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
}

#[async_trait]
impl Restore for Restoring {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.lock().await?;
        let added = pets::restore(&self.transaction, &pets).await?;
        self.changed |= added > 0;
        Ok(added)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.changed |= !pets.is_empty();
        Ok(pets::insert(&self.transaction, &pets).await?)
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.lock().await?;
        keys::restore(&self.transaction, &keys).await
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.lock().await?;
        idempotency::restore(&self.transaction, &records).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.locked {
            self.transaction.batch(sequences::RAISE).await?;
        }
        if !self.changed {
            self.transaction.commit().await?;
            return Ok(());
        }
        let version = version::random()?;
        let renewed = self.transaction.query(version::RENEW, &[&Some(version.as_slice())]).await?;
        self.transaction.commit().await?;
        if let Ok(stored) = StoredVersion::from_row(renewed.first()) {
            self.version.observe(stored, self.began);
        }
        Ok(())
    }
}
