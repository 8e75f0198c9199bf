//! Flaws of reading and writing a store as a whole.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Idempotency, IdempotencyRecord, NewPet, Pet, PetId, PetRepository, Restore,
    RestoreError, Snapshot, StoreCounts, StoreError,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

/// A view that looks at the store anew each time.
struct Window(Arc<MemoryStore>);

impl Window {
    async fn now(&self) -> Box<dyn Snapshot> {
        self.0.snapshot().await.unwrap()
    }
}

#[async_trait]
impl Snapshot for Window {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.now().await.counts().await
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, StoreError> {
        self.now().await.pets(after, at_most).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.now().await.keys().await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.now().await.idempotency_records(after, at_most).await
    }
}

#[derive(Clone)]
struct Live;

#[async_trait]
impl Flaw for Live {
    async fn snapshot(&self, store: &Arc<MemoryStore>) -> Box<dyn Snapshot> {
        Box::new(Window(store.clone()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_moves_on_is_caught() {
    is_caught_by(Live, ["a_snapshot_does_not_see_later_writes"]).await;
}

/// A restore that does one thing wrong.
struct Wrong {
    store: Arc<MemoryStore>,
    honest: Box<dyn Restore>,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// What is written shows before the commit.
    Early,
    /// The commit is acknowledged and not done.
    Never,
    /// What is in the way is overlooked.
    Overlooks,
    /// Animals get new identifiers.
    Renumbers,
    /// Animals that were there already are counted as new.
    Overcounts,
}

#[async_trait]
impl Restore for Wrong {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let count = pets.len() as u64;
        let new = |Pet { name, category_id, status, .. }: Pet| NewPet { name, category_id, status };
        match self.how {
            How::Early => {
                let mut own = self.store.restore().await?;
                own.pets(pets).await?;
                own.commit().await?;
                Ok(count)
            }
            How::Overlooks => Ok(self.honest.pets(pets).await.unwrap_or(0)),
            How::Renumbers => {
                self.honest.new_pets(pets.into_iter().map(new).collect()).await?;
                Ok(count)
            }
            How::Overcounts => self.honest.pets(pets).await.map(|_| count),
            How::Never => self.honest.pets(pets).await,
        }
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        if self.how == How::Early {
            for pet in pets {
                let Ok(_) = PetRepository::add(&*self.store, pet, None).await else { continue };
            }
            return Ok(());
        }
        self.honest.new_pets(pets).await
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        let end = self.honest.keys(keys).await;
        if self.how == How::Overlooks { Ok(()) } else { end }
    }

    async fn idempotency_records(
        &mut self,
        attempts: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        let end = self.honest.idempotency_records(attempts).await;
        if self.how == How::Overlooks { Ok(()) } else { end }
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.how == How::Never { Ok(()) } else { self.honest.commit().await }
    }
}

#[derive(Clone)]
struct Restores(How);

#[async_trait]
impl Flaw for Restores {
    async fn restore(&self, store: &Arc<MemoryStore>) -> Box<dyn Restore> {
        let (store, honest) = (store.clone(), store.restore().await.unwrap());
        Box::new(Wrong { store, honest, how: self.0 })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_shows_early_is_caught() {
    is_caught_by(
        Restores(How::Early),
        [
            "a_key_that_is_there_already_is_joined",
            "a_newer_record_replaces_the_one_there",
            "a_restore_brings_back_every_field",
            "a_restore_left_without_commit_leaves_nothing",
            "a_restore_may_be_repeated",
            "a_restore_names_what_is_in_its_way",
            "identifiers_go_on_above_those_restored",
            "new_pets_get_identifiers_in_their_order",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_does_nothing_is_caught() {
    is_caught_by(
        Restores(How::Never),
        [
            "a_key_that_is_there_already_is_joined",
            "a_newer_record_replaces_the_one_there",
            "a_restore_brings_back_every_field",
            "a_restore_changes_the_mark",
            "a_restore_may_be_repeated",
            "a_restore_names_what_is_in_its_way",
            "identifiers_go_on_above_those_restored",
            "new_pets_get_identifiers_in_their_order",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_passed_over_is_caught() {
    is_caught_by(Restores(How::Overlooks), ["a_restore_names_what_is_in_its_way"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn animals_restored_under_other_identifiers_are_caught() {
    is_caught_by(
        Restores(How::Renumbers),
        [
            "a_key_that_is_there_already_is_joined",
            "a_newer_record_replaces_the_one_there",
            "a_restore_brings_back_every_field",
            "a_restore_left_without_commit_leaves_nothing",
            "a_restore_may_be_repeated",
            "a_restore_names_what_is_in_its_way",
            "identifiers_go_on_above_those_restored",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn animals_counted_twice_are_caught() {
    is_caught_by(Restores(How::Overcounts), ["a_restore_may_be_repeated"]).await;
}
