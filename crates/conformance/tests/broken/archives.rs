//! Flaws of reading and writing a store as a whole.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, IdempotencyId, IdempotencyRecord, NewPet, Pet, PetId, PetRepository, Restore,
    RestoreError, Snapshot, StoreCounts, StoreError,
};
use petstore_memory::MemoryStore;

use crate::{faults::Faults, flaw::Flaw};

/// A snapshot with a fault.
struct FaultySnapshot {
    store: Arc<MemoryStore>,
    taken: Box<dyn Snapshot>,
    /// Each call sees the store as it is then.
    live: bool,
    change: fn(&mut Vec<IdempotencyRecord>),
}

impl FaultySnapshot {
    async fn view(&mut self) -> Result<&mut dyn Snapshot, StoreError> {
        if self.live {
            self.taken = self.store.snapshot().await?;
        }
        Ok(&mut *self.taken)
    }
}

#[async_trait]
impl Snapshot for FaultySnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.view().await?.counts().await
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        self.view().await?.pets(after, limit).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.view().await?.keys().await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let mut records = self.view().await?.idempotency_records(after, limit).await?;
        (self.change)(&mut records);
        Ok(records)
    }
}

fn snapshots(live: bool, change: fn(&mut Vec<IdempotencyRecord>)) -> Faults {
    Faults::default().snapshot(move |store, ()| async move {
        let taken = store.snapshot().await?;
        Ok(Box::new(FaultySnapshot { store, taken, live, change }) as Box<dyn Snapshot>)
    })
}

/// Takes ids for text of ASCII.
fn read_as_text(records: &mut [IdempotencyRecord]) {
    let bytes = records.iter_mut().flat_map(|record| &mut record.id.0);
    bytes.filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// What is written shows before the commit.
    Early,
    /// The commit is acknowledged and not done.
    NoCommit,
    /// Errors are passed over, conflicts among them.
    Overlooks,
    /// Animals get new identifiers.
    Renumbers,
    /// Animals that were there already are counted as new.
    Overcounts,
    /// A key or a record that is there already stays as it is.
    KeepsOld,
}

/// A restore with a fault.
struct FaultyRestore {
    store: Arc<MemoryStore>,
    begun: Box<dyn Restore>,
    fault: Fault,
}

impl FaultyRestore {
    fn overlook<T: Default>(&self, end: Result<T, RestoreError>) -> Result<T, RestoreError> {
        if self.fault == Fault::Overlooks { Ok(end.unwrap_or_default()) } else { end }
    }
}

#[async_trait]
impl Restore for FaultyRestore {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let count = pets.len() as u64;
        let new = |Pet { name, category_id, status, .. }: Pet| NewPet { name, category_id, status };
        match self.fault {
            Fault::Early => {
                let mut own = self.store.restore().await?;
                own.pets(pets).await?;
                own.commit().await?;
                Ok(count)
            }
            Fault::Renumbers => {
                self.begun.new_pets(pets.into_iter().map(new).collect()).await?;
                Ok(count)
            }
            Fault::Overcounts => self.begun.pets(pets).await.map(|_| count),
            Fault::NoCommit | Fault::Overlooks | Fault::KeepsOld => {
                let end = self.begun.pets(pets).await;
                self.overlook(end)
            }
        }
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        if self.fault != Fault::Early {
            return self.begun.new_pets(pets).await;
        }
        for pet in pets {
            PetRepository::add(&*self.store, pet, None).await.unwrap();
        }
        Ok(())
    }

    async fn keys(&mut self, mut keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        if self.fault == Fault::KeepsOld {
            let old = self.store.snapshot().await?.keys().await?;
            keys.retain(|key| !old.iter().any(|old| old.id == key.id));
        }
        let end = self.begun.keys(keys).await;
        self.overlook(end)
    }

    async fn idempotency_records(
        &mut self,
        mut records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        if self.fault == Fault::KeepsOld {
            let old = self.store.snapshot().await?.idempotency_records(None, u32::MAX).await?;
            records.retain(|new| !old.iter().any(|old| old.id == new.id));
        }
        let end = self.begun.idempotency_records(records).await;
        self.overlook(end)
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.fault == Fault::NoCommit { Ok(()) } else { self.begun.commit().await }
    }
}

fn restores(fault: Fault) -> Faults {
    Faults::default().restore(move |store, ()| async move {
        let begun = store.restore().await?;
        Ok(Box::new(FaultyRestore { store, begun, fault }) as Box<dyn Restore>)
    })
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a snapshot sees later writes", &["a_snapshot_does_not_see_later_writes"], |_| {
        snapshots(true, |_| ())
    }),
    Flaw::new(
        "a snapshot takes ids for text",
        &["a_snapshot_holds_all_in_ordered_batches"],
        |_| snapshots(false, |records| read_as_text(records)),
    ),
    Flaw::new(
        "a snapshot's records are out of order",
        &["a_snapshot_holds_all_in_ordered_batches", "a_snapshot_does_not_see_later_writes"],
        |_| snapshots(false, |records| records.reverse()),
    ),
    Flaw::new(
        "a restore shows before its commit",
        &[
            "a_restore_brings_back_every_field",
            "a_restore_left_without_commit_leaves_nothing",
            "a_write_shows_in_every_list_and_changes_nothing_else",
        ],
        |_| restores(Fault::Early),
    ),
    Flaw::new(
        "a commit is acknowledged and not done",
        &[
            "a_key_that_is_there_already_is_merged",
            "a_newer_record_replaces_the_one_there",
            "a_restore_brings_back_every_field",
            "the_version_changes_exactly_if_an_animal_does",
            "a_restore_may_be_repeated",
            "identifiers_go_on_above_those_restored",
            "a_write_shows_in_every_list_and_changes_nothing_else",
        ],
        |_| restores(Fault::NoCommit),
    ),
    Flaw::new(
        "errors of a restore are passed over",
        &[
            "a_record_without_its_animal_is_refused",
            "a_restore_names_what_it_conflicts_with",
            "another_record_that_is_not_newer_is_a_conflict",
        ],
        |_| restores(Fault::Overlooks),
    ),
    Flaw::new(
        "restored animals get other identifiers",
        &["a_restore_brings_back_every_field", "identifiers_go_on_above_those_restored"],
        |_| restores(Fault::Renumbers),
    ),
    Flaw::new(
        "restored animals that were there are counted as new",
        &["a_restore_may_be_repeated"],
        |_| restores(Fault::Overcounts),
    ),
    Flaw::new(
        "a restore keeps the keys and records that are there",
        &[
            "a_key_that_is_there_already_is_merged",
            "a_newer_record_replaces_the_one_there",
            "another_record_that_is_not_newer_is_a_conflict",
        ],
        |_| restores(Fault::KeepsOld),
    ),
];
