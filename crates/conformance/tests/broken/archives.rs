//! Flaws of reading and writing a store as a whole.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, HighestIds, IdempotencyRecord, KeyId, Pet, PetId, RecordPosition, Rows,
    Snapshot, StoreCounts, StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Request},
    flaw::{Flaw, Notes},
};

/// A snapshot with a fault.
struct FaultySnapshot {
    store: Arc<MemoryStore>,
    taken: Box<dyn Snapshot>,
    at: Instant,
    fault: SnapshotFault,
}

#[derive(Clone, Copy, Default)]
struct SnapshotFault {
    /// `true` if each call reads the current state of the store.
    live: bool,
    /// `true` if the snapshot fails after a second.
    expires: bool,
    records: Option<fn(&mut Vec<IdempotencyRecord>)>,
    highest: Option<fn(&mut HighestIds)>,
}

impl FaultySnapshot {
    async fn view(&mut self) -> Result<&mut dyn Snapshot, StoreError> {
        if self.fault.live {
            self.taken = self.store.snapshot().await?;
        }
        if self.fault.expires && self.at.elapsed() > Duration::from_secs(1) {
            return Err(StoreError::unavailable("the transaction is too old"));
        }
        Ok(&mut *self.taken)
    }
}

#[async_trait]
impl Snapshot for FaultySnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.view().await?.counts().await
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let mut highest = self.view().await?.highest_ids().await?;
        if let Some(change) = self.fault.highest {
            change(&mut highest);
        }
        Ok(highest)
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        self.view().await?.pets(after, limit).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.view().await?.keys().await
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let mut records = self.view().await?.records(after, limit).await?;
        if let Some(change) = self.fault.records {
            change(&mut records);
        }
        Ok(records)
    }
}

fn snapshots(fault: SnapshotFault) -> Faults {
    Faults::default().snapshot(move |store, ()| async move {
        let (taken, at) = (store.snapshot().await?, Instant::now());
        Ok(Box::new(FaultySnapshot { store, taken, at, fault }) as Box<dyn Snapshot>)
    })
}

fn records(change: fn(&mut Vec<IdempotencyRecord>)) -> Faults {
    snapshots(SnapshotFault { records: Some(change), ..SnapshotFault::default() })
}

fn highest(change: fn(&mut HighestIds)) -> Faults {
    snapshots(SnapshotFault { highest: Some(change), ..SnapshotFault::default() })
}

/// Replaces the bytes that are not ASCII, like a store that keeps ids as text.
fn read_as_text(records: &mut [IdempotencyRecord]) {
    let bytes = records.iter_mut().flat_map(|record| &mut record.id.0);
    bytes.filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
}

/// Changes rows by `edit` before they are written.
fn edited(edit: fn(&mut Rows)) -> Faults {
    Faults::default().write_rows(move |store, (writer, mut rows)| async move {
        edit(&mut rows);
        store.write_rows(writer, rows).await
    })
}

/// Skips the keys and records that the store holds already.
fn without_old() -> Faults {
    Faults::default().write_rows(|store, (writer, mut rows)| async move {
        let mut snapshot = store.snapshot().await?;
        let (keys, records) = (snapshot.keys().await?, snapshot.records(None, u32::MAX).await?);
        rows.keys.retain(|key| !keys.iter().any(|old| old.id == key.id));
        rows.records.retain(|new| !records.iter().any(|old| old.id == new.id));
        store.write_rows(writer, rows).await
    })
}

/// Adds new animals with the request that `change` returns.
fn requested(change: fn(Request) -> Request) -> Faults {
    Faults::default().add_new(move |store, (pets, request)| async move {
        store.add_new(pets, change(request)).await
    })
}

/// Makes snapshots fail after a purge.
fn damaged_by_a_purge(notes: &Arc<Notes>) -> Faults {
    let (purged, is_purged) = (Arc::clone(notes), Arc::clone(notes));
    Faults::default()
        .purge(move |store, (cutoff, limit)| {
            purged.flag.store(true, Ordering::SeqCst);
            async move { petstore_domain::PetRepository::purge_expired(&*store, cutoff, limit).await }
        })
        .snapshot(move |store, ()| {
            let is_purged = is_purged.flag.load(Ordering::SeqCst);
            async move {
                if is_purged {
                    return Err(StoreError::corrupt("an index entry", "its record exists"));
                }
                store.snapshot().await
            }
        })
}

const LARGE: &str = "many_animals_are_added_in_their_order";
const COPIED: &str = "no_identifier_of_a_copied_store_comes_back";
const WRITTEN: &str = "rows_come_back_and_may_be_written_again";
const ORDER: &str = "a_snapshot_holds_everything_in_order";
const LATER: &str = "a_snapshot_does_not_see_later_writes";

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a snapshot sees later writes", &[LATER], |_| {
        snapshots(SnapshotFault { live: true, ..SnapshotFault::default() })
    }),
    Flaw::new("a snapshot fails after a second", &[LATER], |_| {
        snapshots(SnapshotFault { expires: true, ..SnapshotFault::default() })
    }),
    Flaw::new("a snapshot reads the ids of records as text", &[ORDER], |_| {
        records(|records| read_as_text(records))
    }),
    Flaw::new("a snapshot's records are out of order", &[ORDER, LATER], |_| {
        records(|records| records.reverse())
    }),
    Flaw::new("a snapshot leaves out records without an animal", &[ORDER], |_| {
        records(|records| records.retain(|record| record.pet.0 < 70_000))
    }),
    Flaw::new(
        "snapshots fail after a purge",
        &["a_write_shows_everywhere_and_changes_nothing_else"],
        damaged_by_a_purge,
    ),
    Flaw::new("a snapshot does not return the highest animal identifier", &[COPIED], |_| {
        highest(|highest| highest.pet = None)
    }),
    Flaw::new("a snapshot's highest key identifier is one too low", &[COPIED], |_| {
        highest(|highest| highest.key = highest.key.map(|KeyId(id)| KeyId(id - 1)))
    }),
    Flaw::new("a write of rows ignores the highest animal identifier", &[COPIED], |_| {
        edited(|rows| rows.highest.pet = None)
    }),
    Flaw::new("a write of rows ignores the highest key identifier", &[COPIED], |_| {
        edited(|rows| rows.highest.key = None)
    }),
    Flaw::new("reopening a store loses its highest identifiers", &[COPIED], |_| {
        crate::reopening::changed(|content| content.highest = HighestIds::default())
    }),
    Flaw::new(
        "rows are acknowledged, but not written",
        &[
            "a_key_that_is_there_already_is_merged",
            "rows_in_the_place_of_others_are_refused",
            "what_a_mover_writes_shows_when_the_store_opens",
            WRITTEN,
            COPIED,
        ],
        |_| Faults::default().write_rows(|_, (_, rows)| async move { Ok(rows.pets.len() as u64) }),
    ),
    Flaw::new(
        "refused rows are acknowledged",
        &["rows_in_the_place_of_others_are_refused"],
        |_| {
            Faults::default().write_rows(|store, (writer, rows)| async move {
                Ok(store.write_rows(writer, rows).await.unwrap_or_default())
            })
        },
    ),
    Flaw::new(
        "a key with the digest of another key is skipped",
        &["rows_in_the_place_of_others_are_refused"],
        |_| {
            Faults::default().write_rows(|store, (writer, mut rows)| async move {
                let keys = store.snapshot().await?.keys().await?;
                let is_other =
                    |old: &ApiKey, key: &ApiKey| old.id != key.id && old.digest == key.digest;
                rows.keys.retain(|key| !keys.iter().any(|old| is_other(old, key)));
                store.write_rows(writer, rows).await
            })
        },
    ),
    Flaw::new("animals that the store holds already are counted as new", &[WRITTEN], |_| {
        Faults::default().write_rows(|store, (writer, rows)| async move {
            let added = rows.pets.len() as u64;
            store.write_rows(writer, rows).await.map(|_| added)
        })
    }),
    Flaw::new(
        "keys and records that the store holds already are skipped",
        &["a_key_that_is_there_already_is_merged", "rows_in_the_place_of_others_are_refused"],
        |_| without_old(),
    ),
    Flaw::new(
        "records without their animals are refused",
        &["a_replay_returns_the_animal_of_its_request"],
        |_| {
            Faults::default().write_rows(|store, (writer, rows)| async move {
                let mut pets = store.snapshot().await?.pets(None, u32::MAX).await?;
                pets.extend(rows.pets.clone());
                if rows.records.iter().any(|record| pets.iter().all(|pet| pet.id != record.pet)) {
                    return Err(StoreError::corrupt("a record", "its animal exists").into());
                }
                store.write_rows(writer, rows).await
            })
        },
    ),
    Flaw::new("a repeated batch is added again", &["a_repeated_batch_adds_nothing"], |_| {
        requested(|_| None)
    }),
    Flaw::new("the record of a batch never expires", &["a_repeated_batch_adds_nothing"], |_| {
        requested(|request| {
            request.map(|mut request| {
                request.cutoff = Timestamp(i64::MIN);
                request
            })
        })
    }),
    Flaw::new(
        "the record of a batch is looked up in one transaction and written in another",
        &["a_repeated_batch_adds_nothing"],
        |_| {
            Faults::default().add_new(|store, (pets, mut request)| async move {
                let records = store.snapshot().await?.records(None, u32::MAX).await?;
                yield_now().await;
                if let Some(request) = &mut request
                    && records.iter().all(|record| record.id != request.id)
                {
                    request.cutoff = Timestamp(i64::MAX);
                }
                store.add_new(pets, request).await
            })
        },
    )
    .on_one_thread(),
    Flaw::new("new animals are added in reverse order", &[LARGE], |_| {
        Faults::default().add_new(|store, (mut pets, request)| async move {
            pets.reverse();
            store.add_new(pets, request).await
        })
    }),
    Flaw::new("only 24 of many new animals are added", &[LARGE], |_| {
        Faults::default().add_new(|store, (mut pets, request)| async move {
            pets.truncate(24);
            store.add_new(pets, request).await
        })
    }),
    Flaw::new(
        "a service may write rows to a store that a mover fills",
        &["a_store_that_is_not_open_refuses_everything"],
        |_| crate::handovers::written_by(|_, state| WriterRole::Mover(state.revision)),
    ),
];
