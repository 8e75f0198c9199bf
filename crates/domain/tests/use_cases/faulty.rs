//! A store in memory of which one call fails.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use petstore_domain::{
    AddError, AddKeyError, Added, ApiKey, ApiKeyRepository, CatalogueVersion, IdempotencyRequest,
    KeyId, KeySelector, NewApiKey, NewPet, Pet, PetId, PetPage, PetQuery, PetRepository,
    RollKeyError, StoreError, StoredKeys, Timestamp, Versioned,
};
use petstore_memory::MemoryStore;

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    /// It has no effect.
    Before,
    /// Its effect is there, but the caller does not learn it.
    After,
}

/// A store in memory of which one call fails.
pub(crate) struct FaultyStore {
    pub(crate) inner: MemoryStore,
    calls: AtomicU64,
    fault: Option<(u64, Fails)>,
}

impl FaultyStore {
    /// The call with this number, counted from 0, fails; none if there is no `fault`.
    pub(crate) fn new(fault: Option<(u64, Fails)>) -> Self {
        Self { inner: MemoryStore::new(), calls: AtomicU64::new(0), fault }
    }

    /// The calls until now.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

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

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        self.call(self.inner.find(id)).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.call(PetRepository::list(&self.inner, query)).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.inner.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.call(self.inner.purge_expired(cutoff, limit)).await
    }
}

#[async_trait]
impl ApiKeyRepository for FaultyStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        self.call(ApiKeyRepository::add(&self.inner, key, max)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.call(self.inner.roll(key, retire_at, max)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.call(self.inner.revoke(selector, at)).await
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        self.call(ApiKeyRepository::list(&self.inner)).await
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        self.call(self.inner.live(now)).await
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.call(self.inner.note_use(uses)).await
    }
}
