//! A store in memory that fails one call.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, CatalogueVersion, IdempotencyRequest, KeyId, KeyRevision, KeyStore,
    NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Purged, SaveOutcome, StoreError,
    StoredKeys, Timestamp, Versioned,
};
use petstore_memory::MemoryStore;

/// The point at which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    /// The call fails without an effect.
    Before,
    /// The call takes effect, and then fails.
    After,
}

/// A store in memory, one of whose calls fails.
pub(crate) struct FaultyStore {
    pub(crate) inner: MemoryStore,
    calls: AtomicU64,
    fault: Option<(u64, Fails)>,
}

impl FaultyStore {
    /// Makes a store. The call with the number of `fault`, counted from 0, fails.
    pub(crate) fn new(fault: Option<(u64, Fails)>) -> Self {
        Self { inner: MemoryStore::new(), calls: AtomicU64::new(0), fault }
    }

    /// Returns the number of calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Passes a call to the store, or fails it.
    async fn call<T, E: From<StoreError>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault.filter(|(at, _)| *at == number) {
            None => return call.await,
            Some((_, Fails::Before)) => drop(call),
            Some((_, Fails::After)) => drop(call.await),
        }
        Err(StoreError::unavailable("the simulated fault").into())
    }
}

#[async_trait]
impl PetRepository for FaultyStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.call(PetRepository::add(&self.inner, pet, request)).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        self.call(self.inner.find(id)).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.call(PetRepository::list(&self.inner, query)).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.inner.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.call(self.inner.purge_expired(cutoff, limit)).await
    }
}

#[async_trait]
impl KeyStore for FaultyStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.call(self.inner.load(unless)).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        self.call(self.inner.save(expected, changed, removed)).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.call(self.inner.note_uses(uses)).await
    }
}
