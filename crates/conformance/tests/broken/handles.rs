//! Flaws that show only where a store has several handles.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, KeyDigest, NewPet, Pet, PetId, PetPage,
    PetQuery, PetRepository, StoreError, Versioned,
};
use petstore_memory::MemoryStore;
use tokio::sync::Mutex;

use crate::{flawed::Flaw, is_caught_by};

type Attempt = Option<IdempotencyRequest>;

/// Knows the records of its own handle alone.
#[derive(Clone, Default)]
struct OwnRecords {
    handles: Arc<AtomicU8>,
    own: u8,
}

#[async_trait]
impl Flaw for OwnRecords {
    async fn add(
        &self,
        store: &MemoryStore,
        pet: NewPet,
        attempt: Attempt,
    ) -> Result<Added, AddError> {
        let mut attempt = attempt;
        if let Some(attempt) = &mut attempt {
            let KeyDigest(caller) = &mut attempt.idempotency.caller;
            caller[31] = self.own;
        }
        PetRepository::add(store, pet, attempt).await
    }

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn opened(&self) -> Self {
        let own = self.handles.fetch_add(1, Ordering::Relaxed);
        Self { handles: Arc::clone(&self.handles), own: own + 100 }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_one_handle_alone_are_caught() {
    is_caught_by(
        OwnRecords::default(),
        [
            "a_restore_brings_back_every_field",
            "a_snapshot_does_not_see_later_writes",
            "a_snapshot_holds_all_in_ordered_batches",
            "reopening_keeps_every_record",
            "two_handles_with_one_key_add_one_animal",
        ],
    )
    .await;
}

/// Marks a state by the number of its own additions.
#[derive(Clone, Default)]
struct OwnCount {
    epoch: u128,
    added: Arc<Mutex<u128>>,
}

impl OwnCount {
    fn mark(&self, added: u128) -> CatalogueVersion {
        CatalogueVersion(self.epoch | added)
    }
}

#[async_trait]
impl Flaw for OwnCount {
    async fn add(
        &self,
        store: &MemoryStore,
        pet: NewPet,
        attempt: Attempt,
    ) -> Result<Added, AddError> {
        let mut added = self.added.lock().await;
        let result = PetRepository::add(store, pet, attempt).await;
        *added += 1;
        result
    }

    async fn find(
        &self,
        store: &MemoryStore,
        id: PetId,
    ) -> Result<Option<Versioned<Pet>>, StoreError> {
        let added = self.added.lock().await;
        let version = Some(self.mark(*added));
        Ok(store.find(id).await?.map(|found| Versioned { value: found.value, version }))
    }

    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        let added = self.added.lock().await;
        let page = PetRepository::list(store, query).await?;
        Ok(Versioned { value: page.value, version: Some(self.mark(*added)) })
    }

    fn version(&self, _: &MemoryStore) -> Option<CatalogueVersion> {
        self.added.try_lock().ok().map(|added| self.mark(*added))
    }

    fn fresh(&self) -> Self {
        let random = MemoryStore::new().version().map_or(0, |mark| mark.0 >> 64 << 64);
        Self { epoch: random, added: Arc::default() }
    }

    fn opened(&self) -> Self {
        Self { epoch: self.epoch, added: Arc::default() }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_one_handle_alone_are_caught() {
    is_caught_by(
        OwnCount::default(),
        [
            "a_restore_changes_the_mark",
            "no_mark_comes_back_after_reopening",
            "reads_of_two_handles_under_one_mark_are_equal",
        ],
    )
    .await;
}
