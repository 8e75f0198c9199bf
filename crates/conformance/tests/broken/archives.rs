//! Flaws of reading and writing a store as a whole.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive as _, HighestIds, IdempotencyRecord, KeyId, KeyRights, Pet, PetId,
    RecordPosition, Snapshot, StoreCounts, StoreError, Timestamp, WriterRole,
};
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Handle},
    flaw::Flaw,
    handovers::change_writer,
};

/// A snapshot with a fault.
struct FaultySnapshot {
    store: Handle,
    taken: Box<dyn Snapshot>,
    at: Instant,
    fault: SnapshotFault,
}

#[derive(Clone, Copy)]
enum SnapshotFault {
    /// Calls for this part read the current state of the store.
    Live(Part),
    /// The snapshot fails after a second.
    Expires,
    Limit(Part, fn(u32) -> u32),
    Counts(fn(&mut StoreCounts)),
    Highest(fn(&mut HighestIds)),
    Pets(fn(&mut Vec<Pet>)),
    Keys(fn(&mut Vec<ApiKey>)),
    Records(fn(&mut Vec<IdempotencyRecord>)),
}

use SnapshotFault::{Counts, Highest, Keys, Limit, Live, Pets, Records};

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Counts,
    Highest,
    Pets,
    Keys,
    Records,
}

impl FaultySnapshot {
    async fn view(&mut self, part: Part) -> Result<&mut dyn Snapshot, StoreError> {
        if matches!(self.fault, Live(live) if live == part) {
            self.taken = self.store.snapshot().await?;
        }
        if matches!(self.fault, SnapshotFault::Expires)
            && self.at.elapsed() > Duration::from_secs(1)
        {
            return Err(StoreError::unavailable("the transaction is too old"));
        }
        Ok(&mut *self.taken)
    }

    fn limit(&self, part: Part, limit: u32) -> u32 {
        let Limit(limited, change) = self.fault else { return limit };
        if limited == part { change(limit) } else { limit }
    }
}

#[async_trait]
impl Snapshot for FaultySnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let mut counts = self.view(Part::Counts).await?.counts().await?;
        if let Counts(change) = self.fault {
            change(&mut counts);
        }
        Ok(counts)
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let mut highest = self.view(Part::Highest).await?.highest_ids().await?;
        if let Highest(change) = self.fault {
            change(&mut highest);
        }
        Ok(highest)
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let limit = self.limit(Part::Pets, limit);
        let mut pets = self.view(Part::Pets).await?.pets(after, limit).await?;
        if let Pets(change) = self.fault {
            change(&mut pets);
        }
        Ok(pets)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        let mut keys = self.view(Part::Keys).await?.keys().await?;
        if let Keys(change) = self.fault {
            change(&mut keys);
        }
        Ok(keys)
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let limit = self.limit(Part::Records, limit);
        let mut records = self.view(Part::Records).await?.records(after, limit).await?;
        if let Records(change) = self.fault {
            change(&mut records);
        }
        Ok(records)
    }
}

/// Takes snapshots with `fault`.
fn snapshots(it: &mut Faults, fault: SnapshotFault) {
    it.snapshot.replace(move |store, ()| async move {
        let (taken, at) = (store.snapshot().await?, Instant::now());
        Ok(Box::new(FaultySnapshot { store, taken, at, fault }) as Box<dyn Snapshot>)
    });
}

/// Changes the keys that are written as rows.
fn change_keys(it: &mut Faults, change: fn(&mut ApiKey)) {
    it.write_rows.replace(move |store, (writer, mut rows)| async move {
        rows.keys.iter_mut().for_each(change);
        store.write_rows(writer, rows).await
    });
}

const BATCH: &str = "a_repeated_batch_adds_nothing";
const COPIED: &str = "no_identifier_of_a_copied_store_comes_back";
const DELETED: &str = "a_record_outlasts_its_deleted_animal";
const EVERYWHERE: &str = "a_write_shows_everywhere_and_changes_nothing_else";
const FRESH: &str = "a_fresh_store_is_empty";
const LARGE: &str = "many_animals_are_added_in_their_order";
const LATER: &str = "a_snapshot_does_not_see_later_writes";
const MERGED: &str = "a_key_that_is_there_already_is_merged";
const ORDER: &str = "a_snapshot_holds_everything_in_order";
const MOVERS: &str = "what_a_mover_writes_shows_when_the_store_opens";
const OTHERS: &str = "rows_in_the_place_of_others_are_refused";
const REFUSES: &str = "a_store_that_is_not_open_refuses_everything";
const REOPENED: &str = "reopening_keeps_what_was_acknowledged";
const WRITTEN: &str = "rows_come_back_and_may_be_written_again";

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a snapshot counts later rows", &[LATER], |it| snapshots(it, Live(Part::Counts))),
    Flaw::new("a snapshot has later highest identifiers", &[LATER], |it| {
        snapshots(it, Live(Part::Highest));
    }),
    Flaw::new("a snapshot shows later animals", &[LATER], |it| snapshots(it, Live(Part::Pets))),
    Flaw::new("a snapshot shows later keys", &[LATER], |it| snapshots(it, Live(Part::Keys))),
    Flaw::new("a snapshot shows later records", &[LATER], |it| {
        snapshots(it, Live(Part::Records));
    }),
    Flaw::new("a snapshot counts one animal too many", &[FRESH, ORDER], |it| {
        snapshots(it, Counts(|counts| counts.pets += 1));
    }),
    Flaw::new("a snapshot counts one key too many", &[FRESH, ORDER], |it| {
        snapshots(it, Counts(|counts| counts.keys += 1));
    }),
    Flaw::new("a snapshot counts one record too many", &[FRESH, ORDER], |it| {
        snapshots(it, Counts(|counts| counts.records += 1));
    }),
    Flaw::new("the highest key of a new store is 0", &[FRESH], |it| {
        snapshots(it, Highest(|highest| highest.key = highest.key.or(Some(KeyId(0)))));
    }),
    Flaw::new("the highest animal of a new store is 0", &[FRESH], |it| {
        snapshots(it, Highest(|highest| highest.pet = highest.pet.or(Some(PetId(0)))));
    }),
    Flaw::new("a batch of records has more rows than its limit", &[ORDER, LATER], |it| {
        snapshots(it, Limit(Part::Records, |_| u32::MAX));
    }),
    Flaw::new("animals of a snapshot follow a batch that is not full", &[ORDER, LATER], |it| {
        snapshots(it, Limit(Part::Pets, |limit| limit.min(3)));
    }),
    Flaw::new("a snapshot lacks animals without a status", &[ORDER, WRITTEN, MOVERS], |it| {
        snapshots(it, Pets(|pets| pets.retain(|pet| pet.status.is_some())));
    }),
    Flaw::new("a snapshot lacks revoked keys", &[ORDER, WRITTEN, REFUSES], |it| {
        snapshots(it, Keys(|keys| keys.retain(|key| key.revoked_at.is_none())));
    }),
    Flaw::new("the records of a snapshot name other animals", &[ORDER, BATCH, MOVERS], |it| {
        snapshots(it, Records(|records| records.iter_mut().for_each(|record| record.pet.0 += 1)));
    }),
    Flaw::new("a snapshot fails after a second", &[LATER], |it| {
        snapshots(it, SnapshotFault::Expires);
    }),
    Flaw::new("a snapshot reads the ids of records as text", &[ORDER], |it| {
        let read_as_text = |records: &mut Vec<IdempotencyRecord>| {
            let bytes = records.iter_mut().flat_map(|record| &mut record.id.0);
            bytes.filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        };
        snapshots(it, Records(read_as_text));
    }),
    Flaw::new("a snapshot's records are out of order", &[ORDER, LATER], |it| {
        snapshots(it, Records(|records| records.reverse()));
    }),
    Flaw::new("a snapshot leaves out records without an animal", &[ORDER, MOVERS], |it| {
        let leave_out = |records: &mut Vec<_>| {
            records.retain(|record: &IdempotencyRecord| record.pet.0 < 70_000);
        };
        snapshots(it, Records(leave_out));
    }),
    Flaw::new("snapshots fail after a purge", &[EVERYWHERE], |it| {
        it.purge.edit_output(|store, _, _| store.notes.flag.store(true, Ordering::SeqCst));
        it.snapshot.replace(|store, ()| async move {
            if store.notes.flag.load(Ordering::SeqCst) {
                return Err(StoreError::corrupt("an index entry", "its record exists"));
            }
            store.snapshot().await
        });
    }),
    Flaw::new("a snapshot's highest animal identifier is one too low", &[COPIED, DELETED], |it| {
        let lower = |highest: &mut HighestIds| {
            highest.pet = highest.pet.map(|PetId(id)| PetId(id - 1));
        };
        snapshots(it, Highest(lower));
    }),
    Flaw::new("a snapshot's highest key identifier is one too low", &[COPIED], |it| {
        let lower = |highest: &mut HighestIds| {
            highest.key = highest.key.map(|KeyId(id)| KeyId(id - 1));
        };
        snapshots(it, Highest(lower));
    }),
    Flaw::new("a write of rows ignores the highest animal identifier", &[COPIED], |it| {
        it.write_rows.edit_input(|(_, rows)| rows.highest.pet = None);
    }),
    Flaw::new("a write of rows ignores the highest key identifier", &[COPIED], |it| {
        it.write_rows.edit_input(|(_, rows)| rows.highest.key = None);
    }),
    Flaw::new("reopening a store loses its highest identifiers", &[COPIED, REOPENED], |it| {
        it.reopened = Some(|rows, _| rows.highest = HighestIds::default());
    }),
    Flaw::new("refused rows are acknowledged", &[OTHERS, EVERYWHERE, MOVERS], |it| {
        it.write_rows.replace(|store, (writer, rows)| async move {
            Ok(store.write_rows(writer, rows).await.unwrap_or_default())
        });
    }),
    Flaw::new("a key with the digest of another key is skipped", &[OTHERS], |it| {
        it.write_rows.replace(|store, (writer, mut rows)| async move {
            let keys = store.snapshot().await?.keys().await?;
            let is_other =
                |old: &ApiKey, key: &ApiKey| old.id != key.id && old.digest == key.digest;
            rows.keys.retain(|key| !keys.iter().any(|old| is_other(old, key)));
            store.write_rows(writer, rows).await
        });
    }),
    Flaw::new("animals that the store holds already are counted as new", &[WRITTEN], |it| {
        it.write_rows.edit_output(|_, (_, rows), added| *added = rows.pets.len() as u64);
    }),
    Flaw::new(
        "keys and records that the store holds already are skipped",
        &[MERGED, OTHERS],
        |it| {
            it.write_rows.replace(|store, (writer, mut rows)| async move {
                let mut snapshot = store.snapshot().await?;
                let keys = snapshot.keys().await?;
                let records = snapshot.records(None, u32::MAX).await?;
                rows.keys.retain(|key| !keys.iter().any(|old| old.id == key.id));
                rows.records.retain(|new| !records.iter().any(|old| old.id == new.id));
                store.write_rows(writer, rows).await
            });
        },
    ),
    Flaw::new("an older copy of a revoked key revives it", &[MERGED], |it| {
        it.write_rows.edit_output(|store, (_, rows), _| {
            let written = rows.keys.iter().map(|key| (key.id, key.clone()));
            store.notes.keys.lock().unwrap().extend(written);
        });
        it.load.edit_output(|store, _, loaded| {
            let written = store.notes.keys.lock().unwrap();
            for key in loaded.iter_mut().flat_map(|loaded| &mut loaded.keys) {
                key.revoked_at = written.get(&key.id).map_or(key.revoked_at, |it| it.revoked_at);
            }
        });
    }),
    Flaw::new("a written key loses its expiry", &[WRITTEN, MERGED], |it| {
        change_keys(it, |key| key.expires_at = None);
    }),
    Flaw::new("a written key loses its last use", &[WRITTEN, MERGED], |it| {
        change_keys(it, |key| key.last_used_at = None);
    }),
    Flaw::new("a written key loses its revocation", &[WRITTEN, MERGED], |it| {
        change_keys(it, |key| key.revoked_at = None);
    }),
    Flaw::new("a written key may do everything", &[WRITTEN], |it| {
        change_keys(it, |key| key.rights = KeyRights::Full);
    }),
    Flaw::new("written keys are numbered from 1 on", &[WRITTEN], |it| {
        it.write_rows.edit_input(|(_, rows)| {
            (1..).zip(&mut rows.keys).for_each(|(id, key)| key.id = KeyId(id));
        });
    }),
    Flaw::new("a repeated batch is added again", &[BATCH], |it| {
        it.add_new.edit_input(|(_, request)| *request = None);
    }),
    Flaw::new("the record of a batch never expires", &[BATCH], |it| {
        it.add_new.edit_input(|(_, request)| {
            if let Some(request) = request {
                request.cutoff = Timestamp(i64::MIN);
            }
        });
    }),
    Flaw::new(
        "the record of a batch is looked up in one transaction and written in another",
        &[BATCH],
        |it| {
            it.add_new.replace(|store, (pets, mut request)| async move {
                let records = store.snapshot().await?.records(None, u32::MAX).await?;
                yield_now().await;
                if let Some(request) = &mut request
                    && records.iter().all(|record| record.id != request.id)
                {
                    request.cutoff = Timestamp(i64::MAX);
                }
                store.add_new(pets, request).await
            });
        },
    )
    .on_one_thread(),
    Flaw::new("one call adds only 24 animals", &[LARGE], |it| it.max_batch = 24),
    Flaw::new("new animals are added in reverse order", &[LARGE, EVERYWHERE], |it| {
        it.add_new.edit_input(|(pets, _)| pets.reverse());
    }),
    Flaw::new("only 9,999 animals are added", &[LARGE], |it| {
        it.max_batch = 10_000;
        it.add_new.edit_input(|(pets, _)| pets.truncate(9_999));
    }),
    Flaw::new("a service may write rows to a store that a mover fills", &[REFUSES], |it| {
        change_writer(it, |_, state| WriterRole::Mover(state.revision));
    }),
];
