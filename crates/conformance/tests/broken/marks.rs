//! Flaws of the mark.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use petstore_domain::{
    CatalogueVersion, Pet, PetId, PetPage, PetQuery, PetRepository, StoreError, Versioned,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{flawed::Flaw, is_caught_by};

/// Makes an adapter that turns every mark into another by this function, and the test that it is
/// caught.
macro_rules! changed_mark {
    ($test:ident, $flaw:ident, $change:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        impl $flaw {
            fn change(mark: Option<CatalogueVersion>) -> Option<CatalogueVersion> {
                let change: fn(u128) -> u128 = $change;
                mark.map(|mark| CatalogueVersion(change(mark.0)))
            }
        }

        #[async_trait]
        impl Flaw for $flaw {
            async fn find(
                &self,
                store: &MemoryStore,
                id: PetId,
            ) -> Result<Option<Versioned<Pet>>, StoreError> {
                let found = store.find(id).await?;
                Ok(found.map(|Versioned { value, version }| Versioned {
                    value,
                    version: Self::change(version),
                }))
            }

            async fn list(
                &self,
                store: &MemoryStore,
                query: PetQuery,
            ) -> Result<Versioned<PetPage>, StoreError> {
                let Versioned { value, version } = PetRepository::list(store, query).await?;
                Ok(Versioned { value, version: Self::change(version) })
            }

            fn version(&self, store: &MemoryStore) -> Option<CatalogueVersion> {
                Self::change(store.version())
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

// The low half of a mark of the store in memory counts its states, the high half is random.
changed_mark!(
    a_mark_that_comes_back_is_caught,
    Narrow,
    |mark| mark & !0xffff_ffff | mark & 0xf,
    ["a_mark_never_comes_back", "no_mark_comes_back_after_reopening"]
);
changed_mark!(
    a_mark_shared_by_all_stores_is_caught,
    Counter,
    |mark| mark & 0xffff_ffff,
    ["a_mark_never_comes_back"]
);
changed_mark!(
    a_mark_that_skips_a_change_is_caught,
    Coarse,
    |mark| mark & !1,
    [
        "a_mark_never_comes_back",
        "every_addition_changes_the_mark",
        "no_mark_comes_back_after_reopening"
    ]
);

/// Tells a mark for some time more after somebody could have seen another one.
#[derive(Clone)]
struct Stale {
    shown: Arc<Mutex<Shown>>,
    lasts: Duration,
    /// Its own additions show at once.
    sees_own: bool,
}

#[derive(Default)]
struct Shown {
    mark: Option<CatalogueVersion>,
    /// When it was told first although there was another one.
    stale_since: Option<Instant>,
}

impl Stale {
    fn new(lasts: Duration, sees_own: bool) -> Self {
        Self { shown: Arc::default(), lasts, sees_own }
    }
}

#[async_trait]
impl Flaw for Stale {
    async fn add(
        &self,
        store: &MemoryStore,
        pet: petstore_domain::NewPet,
        attempt: Option<petstore_domain::IdempotencyRequest>,
    ) -> Result<petstore_domain::Added, petstore_domain::AddError> {
        let added = PetRepository::add(store, pet, attempt).await;
        if self.sees_own {
            *self.shown.lock().unwrap() = Shown::default();
        }
        added
    }

    fn version(&self, store: &MemoryStore) -> Option<CatalogueVersion> {
        let now = store.version();
        let mut shown = self.shown.lock().unwrap();
        if shown.mark.is_none() {
            shown.mark = now;
        }
        if shown.mark != now
            && shown.stale_since.get_or_insert_with(Instant::now).elapsed() > self.lasts
        {
            *shown = Shown { mark: now, stale_since: None };
        }
        shown.mark
    }

    fn opened(&self) -> Self {
        Self::new(self.lasts, self.sees_own)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_version_is_caught() {
    is_caught_by(
        Stale::new(Duration::from_hours(1), false),
        [
            "a_mark_never_comes_back",
            "a_read_carries_the_mark_of_what_it_saw",
            "a_restore_changes_the_mark",
            "every_addition_changes_the_mark",
            "no_mark_comes_back_after_reopening",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_learns_late_of_others_is_caught() {
    is_caught_by(
        Stale::new(Duration::from_millis(400), true),
        ["a_restore_changes_the_mark", "an_addition_elsewhere_changes_the_mark_within_100_ms"],
    )
    .await;
}

/// Reads the mark, and a moment later the animals.
#[derive(Clone)]
struct TwoSnapshots;

#[async_trait]
impl Flaw for TwoSnapshots {
    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        let version = store.version();
        yield_now().await;
        let Versioned { value, .. } = PetRepository::list(store, query).await?;
        Ok(Versioned { value, version })
    }
}

// One thread: where a read lets others go first, each of them does.
#[tokio::test]
async fn a_mark_of_another_snapshot_is_caught() {
    is_caught_by(TwoSnapshots, ["reads_under_one_mark_are_equal"]).await;
}

/// Forgets the mark of what it lists.
#[derive(Clone)]
struct Unmarked;

#[async_trait]
impl Flaw for Unmarked {
    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        let Versioned { value, .. } = PetRepository::list(store, query).await?;
        Ok(Versioned { value, version: None })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_its_mark_is_caught() {
    is_caught_by(
        Unmarked,
        ["a_read_carries_the_mark_of_what_it_saw", "reads_under_one_mark_are_equal"],
    )
    .await;
}
