//! One open handle on a store in memory, with faults in front of its calls.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, Archive, Batch, CatalogueVersion, IdempotencyRequest, KeyId,
    KeyRevision, KeyStore, NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Purged,
    RestoreError, Saved, Snapshot, StoreError, StoredKeys, Timestamp, Versioned, Written,
};
use petstore_memory::MemoryStore;

use crate::faults::{Faults, Version};

pub(crate) struct Faulty {
    pub(crate) faults: Faults,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) cut_off: Arc<AtomicBool>,
}

impl Faulty {
    /// The store, unless it cannot be reached.
    pub(crate) async fn reach(&self) -> Result<Arc<MemoryStore>, StoreError> {
        let store = Arc::clone(&self.store);
        if self.cut_off.load(Ordering::SeqCst) {
            match &self.faults.unreachable {
                Some(fault) => fault(Arc::clone(&store), ()).await?,
                None => return Err(StoreError::unavailable("the connection is cut")),
            }
        }
        Ok(store)
    }

    fn changed(&self, version: Version) -> Version {
        let Some(change) = &self.faults.versions else { return version };
        version.map(|version| CatalogueVersion(change(version.0)))
    }

    fn versioned<T>(&self, read: Versioned<T>) -> Versioned<T> {
        Versioned { version: self.changed(read.version), ..read }
    }
}

/// Calls the fault if there is one, else the store in memory.
macro_rules! call {
    ($self:ident.$call:ident($($arg:ident),*), $honest:path) => {{
        let store = $self.reach().await?;
        match &$self.faults.$call {
            Some(fault) => fault(store, ($($arg),*)).await,
            None => $honest(&*store, $($arg),*).await,
        }
    }};
}

#[async_trait]
impl PetRepository for Faulty {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        call!(self.add(pet, request), PetRepository::add)
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        let found = call!(self.find(id), PetRepository::find)?;
        Ok(found.map(|found| self.versioned(found)))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        Ok(self.versioned(call!(self.list(query), PetRepository::list)?))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        let version = self.changed(self.store.version());
        self.faults.own_version.as_ref().map_or(version, |change| change(version))
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        call!(self.purge(cutoff, limit), PetRepository::purge_expired)
    }
}

#[async_trait]
impl KeyStore for Faulty {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        call!(self.load(unless), KeyStore::load)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        call!(self.save(expected, changed, removed), KeyStore::save)
    }
}

#[async_trait]
impl Archive for Faulty {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        call!(self.snapshot(), Archive::snapshot)
    }

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        let Batch { pets, new_pets, keys, records, .. } = &batch;
        if pets.len() + new_pets.len() + keys.len() + records.len() > self.max_batch() {
            return Err(StoreError::refused("a batch of more rows than `max_batch` says").into());
        }
        call!(self.write(batch), Archive::write)
    }

    fn max_batch(&self) -> usize {
        // Few, as a store has that cannot make large transactions.
        25
    }
}
