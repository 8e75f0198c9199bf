//! Flaws that show when a store is opened again.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, CatalogueVersion, IdempotencyRecord, Pet, PetPage, PetQuery, PetRepository,
    Restore, StoreError, Versioned,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

/// A store in memory never waits, so that its futures end at the first poll.
fn ended<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a store in memory does not wait"),
    }
}

/// Makes an adapter that loses part of its content when it is opened again, and the test that it
/// is caught.
macro_rules! loses {
    ($test:ident, $flaw:ident, $lose:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw {
            fn reopened(&self, store: Arc<MemoryStore>) -> Arc<MemoryStore> {
                ended(async {
                    let mut snapshot = store.snapshot().await.unwrap();
                    let mut pets = snapshot.pets(None, u32::MAX).await.unwrap();
                    let mut keys = snapshot.keys().await.unwrap();
                    let mut attempts = snapshot.idempotency_records(None, u32::MAX).await.unwrap();
                    let lose: fn(&mut Vec<Pet>, &mut Vec<ApiKey>, &mut Vec<IdempotencyRecord>) =
                        $lose;
                    lose(&mut pets, &mut keys, &mut attempts);
                    let store = MemoryStore::new();
                    let mut restore: Box<dyn Restore> = store.restore().await.unwrap();
                    restore.pets(pets).await.unwrap();
                    restore.keys(keys).await.unwrap();
                    restore.idempotency_records(attempts).await.unwrap();
                    restore.commit().await.unwrap();
                    Arc::new(store)
                })
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

loses!(
    an_animal_lost_by_reopening_is_caught,
    LosesAnAnimal,
    |pets, _, attempts| {
        let lost = pets.pop();
        attempts.retain(|record| Some(record.pet) != lost.as_ref().map(|pet| pet.id));
    },
    [
        "identifiers_go_on_growing_after_reopening",
        "reopening_keeps_every_animal",
        "reopening_keeps_every_record"
    ]
);
loses!(
    records_lost_by_reopening_are_caught,
    LosesRecords,
    |_, _, attempts| attempts.clear(),
    ["reopening_keeps_every_record"]
);
loses!(
    a_key_lost_by_reopening_is_caught,
    LosesAKey,
    |_, keys, _| drop(keys.pop()),
    ["reopening_keeps_every_key"]
);
loses!(
    a_revocation_lost_by_reopening_is_caught,
    LosesRevocations,
    |_, keys, _| {
        for key in keys {
            key.revoked_at = None;
        }
    },
    ["reopening_keeps_every_key"]
);

/// Counts its marks from the beginning whenever it is opened.
#[derive(Clone)]
struct CountsAgain {
    /// Of the place, random.
    epoch: u128,
    /// How many states there were when this handle was opened.
    before: Arc<std::sync::OnceLock<u128>>,
}

impl CountsAgain {
    fn new(epoch: u128) -> Self {
        Self { epoch, before: Arc::default() }
    }

    fn change(&self, mark: Option<CatalogueVersion>) -> Option<CatalogueVersion> {
        let count = mark?.0 & 0xffff_ffff;
        let before = *self.before.get_or_init(|| count);
        Some(CatalogueVersion(self.epoch << 64 | (count - before)))
    }
}

#[async_trait]
impl Flaw for CountsAgain {
    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        let Versioned { value, version } = PetRepository::list(store, query).await?;
        Ok(Versioned { value, version: self.change(version) })
    }

    async fn find(
        &self,
        store: &MemoryStore,
        id: petstore_domain::PetId,
    ) -> Result<Option<Versioned<Pet>>, StoreError> {
        let found = store.find(id).await?;
        Ok(found
            .map(|Versioned { value, version }| Versioned { value, version: self.change(version) }))
    }

    fn version(&self, store: &MemoryStore) -> Option<CatalogueVersion> {
        self.change(store.version())
    }

    fn fresh(&self) -> Self {
        let mark = MemoryStore::new().version().map_or(0, |mark| mark.0);
        Self::new(mark >> 64)
    }

    fn opened(&self) -> Self {
        Self::new(self.epoch)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_counted_again_after_reopening_are_caught() {
    is_caught_by(CountsAgain::new(0), ["no_mark_comes_back_after_reopening"]).await;
}
