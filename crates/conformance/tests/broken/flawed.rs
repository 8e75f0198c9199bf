//! A store in memory with one flaw.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, AddKeyError, Added, ApiKey, ApiKeyRepository, Archive, CatalogueVersion,
    IdempotencyRequest, KeyId, KeySelector, NewApiKey, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Restore, RollKeyError, Snapshot, StoreError, Timestamp, Versioned,
};
use petstore_memory::MemoryStore;

/// What an adapter does wrong. What a flaw does not touch, a store in memory does.
#[async_trait]
pub(crate) trait Flaw: Clone + Send + Sync + 'static {
    async fn add(
        &self,
        store: &MemoryStore,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        PetRepository::add(store, pet, attempt).await
    }

    async fn find(
        &self,
        store: &MemoryStore,
        id: PetId,
    ) -> Result<Option<Versioned<Pet>>, StoreError> {
        store.find(id).await
    }

    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        PetRepository::list(store, query).await
    }

    fn version(&self, store: &MemoryStore) -> Option<CatalogueVersion> {
        store.version()
    }

    async fn forget(&self, store: &MemoryStore, expired: Timestamp, at_most: u32) -> u32 {
        store.purge_expired(expired, at_most).await.unwrap()
    }

    async fn add_key(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        most: u32,
    ) -> Result<ApiKey, AddKeyError> {
        ApiKeyRepository::add(store, key, most).await
    }

    async fn roll(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        store.roll(key, retire_at, most).await
    }

    async fn revoke(
        &self,
        store: &MemoryStore,
        selector: KeySelector,
        at: Timestamp,
    ) -> Vec<ApiKey> {
        store.revoke(selector, at).await.unwrap()
    }

    async fn keys(&self, store: &MemoryStore) -> Vec<ApiKey> {
        ApiKeyRepository::list(store).await.unwrap()
    }

    async fn live(&self, store: &MemoryStore, now: Timestamp) -> Vec<ApiKey> {
        store.live(now).await.unwrap()
    }

    async fn note_use(&self, store: &MemoryStore, uses: Vec<(KeyId, Timestamp)>) {
        store.note_use(uses).await.unwrap();
    }

    async fn snapshot(&self, store: &Arc<MemoryStore>) -> Box<dyn Snapshot> {
        store.snapshot().await.unwrap()
    }

    async fn restore(&self, store: &Arc<MemoryStore>) -> Box<dyn Restore> {
        store.restore().await.unwrap()
    }

    /// The flaw of a new place: it may keep something there.
    fn fresh(&self) -> Self {
        self.clone()
    }

    /// The flaw of a new handle: it may keep something there.
    fn opened(&self) -> Self {
        self.clone()
    }

    /// What there is when the store is opened again.
    fn reopened(&self, store: Arc<MemoryStore>) -> Arc<MemoryStore> {
        store
    }

    /// What becomes of a call while the store cannot be reached.
    async fn unreachable(&self) -> Result<(), StoreError> {
        Err(StoreError::unavailable("the wire is cut"))
    }
}

/// No flaw at all.
#[derive(Clone)]
pub(crate) struct Nothing;

impl Flaw for Nothing {}

/// One open handle on a store.
pub(crate) struct Flawed<F> {
    pub(crate) flaw: F,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) cut_off: Arc<AtomicBool>,
}

impl<F: Flaw> Flawed<F> {
    async fn reach(&self) -> Result<&MemoryStore, StoreError> {
        if self.cut_off.load(Ordering::SeqCst) {
            self.flaw.unreachable().await?;
        }
        Ok(&self.store)
    }
}

#[async_trait]
impl<F: Flaw> PetRepository for Flawed<F> {
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.flaw.add(self.reach().await?, pet, attempt).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        self.flaw.find(self.reach().await?, id).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.flaw.list(self.reach().await?, query).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.flaw.version(&self.store)
    }

    async fn purge_expired(&self, expired: Timestamp, at_most: u32) -> Result<u32, StoreError> {
        Ok(self.flaw.forget(self.reach().await?, expired, at_most).await)
    }
}

#[async_trait]
impl<F: Flaw> ApiKeyRepository for Flawed<F> {
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError> {
        self.flaw.add_key(self.reach().await?, key, most).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.flaw.roll(self.reach().await?, key, retire_at, most).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.flaw.revoke(self.reach().await?, selector, at).await)
    }

    async fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.flaw.keys(self.reach().await?).await)
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.flaw.live(self.reach().await?, now).await)
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.flaw.note_use(self.reach().await?, uses).await;
        Ok(())
    }
}

#[async_trait]
impl<F: Flaw> Archive for Flawed<F> {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.reach().await?;
        Ok(self.flaw.snapshot(&self.store).await)
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        self.reach().await?;
        Ok(self.flaw.restore(&self.store).await)
    }
}
