//! Flaws of reading and writing a store as a whole.

use std::{mem, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Batch, IdempotencyId, IdempotencyRecord, NewPet, Pet, PetId, Snapshot,
    StoreCounts, StoreError, Timestamp, Written,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

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

/// Batches that are changed before they are written.
fn changed<F>(
    change: impl Fn(Arc<MemoryStore>, Batch) -> F + Clone + Send + Sync + 'static,
) -> Faults
where
    F: Future<Output = Result<Batch, StoreError>> + Send + 'static,
{
    Faults::default().write(move |store, batch| {
        let change = change.clone();
        async move {
            let batch = change(Arc::clone(&store), batch).await?;
            store.write(batch).await
        }
    })
}

/// The same by the batch alone.
fn edited(edit: fn(&mut Batch)) -> Faults {
    changed(move |_, mut batch| {
        edit(&mut batch);
        async { Ok(batch) }
    })
}

/// What a batch was given by its caller, as new animals.
fn renumbered(batch: &mut Batch) {
    let new = |Pet { name, category_id, status, .. }: Pet| NewPet { name, category_id, status };
    batch.new_pets.extend(mem::take(&mut batch.pets).into_iter().map(new));
}

/// Leaves the keys and records out that are there already.
async fn without_old(store: Arc<MemoryStore>, mut batch: Batch) -> Result<Batch, StoreError> {
    let mut snapshot = store.snapshot().await?;
    let (keys, records) =
        (snapshot.keys().await?, snapshot.idempotency_records(None, u32::MAX).await?);
    batch.keys.retain(|key| !keys.iter().any(|old| old.id == key.id));
    batch.records.retain(|new| !records.iter().any(|old| old.id == new.id));
    Ok(batch)
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
        "a batch is acknowledged and not written",
        &[
            "a_key_that_is_there_already_is_merged",
            "a_newer_record_replaces_the_one_there",
            "a_batch_brings_back_every_field",
            "the_version_changes_exactly_if_an_animal_does",
            "a_batch_may_be_written_again",
            "identifiers_go_on_above_those_of_a_batch",
            "a_write_shows_in_every_list_and_changes_nothing_else",
        ],
        |_| {
            Faults::default().write(|_, batch| async move {
                Ok(Written { added: (batch.pets.len() + batch.new_pets.len()) as u64 })
            })
        },
    ),
    Flaw::new(
        "errors of a batch are passed over",
        &[
            "a_record_without_its_animal_is_refused",
            "a_batch_names_what_it_conflicts_with",
            "another_record_that_is_not_newer_is_a_conflict",
            "a_repeated_batch_adds_nothing",
        ],
        |_| {
            Faults::default().write(|store, batch| async move {
                Ok(store.write(batch).await.unwrap_or_default())
            })
        },
    ),
    Flaw::new(
        "animals of a batch get other identifiers",
        &["a_batch_brings_back_every_field", "identifiers_go_on_above_those_of_a_batch"],
        |_| edited(renumbered),
    ),
    Flaw::new(
        "animals that were there are counted as new",
        &["a_batch_may_be_written_again"],
        |_| {
            Faults::default().write(|store, batch| async move {
                let added = (batch.pets.len() + batch.new_pets.len()) as u64;
                store.write(batch).await.map(|_| Written { added })
            })
        },
    ),
    Flaw::new(
        "a batch keeps the keys and records that are there",
        &[
            "a_key_that_is_there_already_is_merged",
            "a_newer_record_replaces_the_one_there",
            "another_record_that_is_not_newer_is_a_conflict",
        ],
        |_| changed(without_old),
    ),
    Flaw::new(
        "a repeated batch is added again",
        &["a_repeated_batch_adds_nothing", "of_equal_batches_at_once_one_is_added"],
        |_| edited(|batch| batch.request = None),
    ),
    Flaw::new("a repeated batch counts for ever", &["a_repeated_batch_adds_nothing"], |_| {
        edited(|batch| {
            let request = batch.request.iter_mut();
            request.for_each(|request| request.cutoff = Timestamp(i64::MIN));
        })
    }),
    Flaw::new(
        "a repeated batch is found before it is written, and not with it",
        &["of_equal_batches_at_once_one_is_added"],
        |_| {
            changed(|store, mut batch| async move {
                let records = store.snapshot().await?.idempotency_records(None, u32::MAX).await?;
                yield_now().await;
                if let Some(request) = &mut batch.request
                    && records.iter().all(|record| record.id != request.id)
                {
                    request.cutoff = Timestamp(i64::MAX);
                }
                Ok(batch)
            })
        },
    )
    .on_one_thread(),
    Flaw::new("new animals of a batch come in another order", &[LARGE], |_| {
        edited(|batch| batch.new_pets.reverse())
    }),
    Flaw::new("a large batch is cut off", &[LARGE], |_| {
        edited(|batch| batch.new_pets.truncate(24))
    }),
    Flaw::new(
        "the next identifier is not raised",
        &["identifiers_go_on_above_those_of_a_batch"],
        |_| edited(|batch| batch.assign_above = None),
    ),
];

const LARGE: &str = "a_batch_takes_as_many_rows_as_the_store_says";
