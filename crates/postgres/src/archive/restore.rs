//! One transaction that writes what another store held.

mod idempotency;
mod keys;
mod pets;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use petstore_domain::{ApiKey, IdempotencyRecord, NewPet, Pet, Restore, RestoreError, StoreError};

use crate::{
    connection::Connection,
    error::StoreFailure,
    sequences,
    version::{self, StoredVersion},
    version_cache::VersionCache,
};

/// Identifiers that were assigned elsewhere must not meet those that an instance assigns now, so
/// no one else adds anything from the first of them until the commit. As that holds up every writer,
/// the server ends a restore that sends nothing for longer than a batch may take elsewhere.
const LOCK: &str = "SET LOCAL idle_in_transaction_session_timeout = '5min'; \
     SELECT FROM catalogue WHERE only_row = 1 FOR NO KEY UPDATE; \
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
        // Also where nothing has changed: the row's trigger refuses it if the store is not open any more.
        let version = self.changed.then(version::random).transpose()?;
        let version = version.as_ref().map(<[u8; 16]>::as_slice);
        let renewed = self.transaction.query(version::RENEW, &[&version]).await?;
        self.transaction.commit().await?;
        if let Ok(stored) = StoredVersion::from_row(renewed.first()) {
            self.version.observe(stored, self.began);
        }
        Ok(())
    }
}
