//! Flaws of reading and writing a store as a whole.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive as _, HighestIds, IdempotencyRecord, KeyId, Pet, PetId, RecordPosition,
    Snapshot, StoreCounts, StoreError, Timestamp,
};
use tokio::task::{coop::consume_budget, yield_now};

use crate::{
    faults::{Faults, Handle},
    flaw::Flaw,
    names::{
        BATCH, COPIED, DELETED, EVERYWHERE, FRESH, LARGE, LATER, MERGED, MOVERS, ORDER, OTHERS,
        REOPENED, WRITTEN,
    },
};

/// A snapshot with a fault.
struct FaultySnapshot {
    store: Handle,
    taken: Box<dyn Snapshot>,
    at: Instant,
    fault: SnapshotFault,
}

#[derive(Clone, Copy)]
pub(crate) enum SnapshotFault {
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
pub(crate) enum Part {
    Counts,
    Highest,
    Pets,
    Keys,
    Records,
}

impl FaultySnapshot {
    async fn view(&mut self, part: Part) -> Result<&mut dyn Snapshot, StoreError> {
        consume_budget().await;
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
pub(crate) fn snapshots(it: &mut Faults, fault: SnapshotFault) {
    it.snapshot.replace(move |store, ()| async move {
        let (taken, at) = (store.snapshot().await?, Instant::now());
        Ok(Box::new(FaultySnapshot { store, taken, at, fault }) as Box<dyn Snapshot>)
    });
}

/// Faults of snapshots, and the promises that must catch them.
const SNAPSHOTS: &[(&str, &[&str], SnapshotFault)] = &[
    ("a snapshot counts later rows", &[LATER], Live(Part::Counts)),
    ("a snapshot has later highest identifiers", &[LATER], Live(Part::Highest)),
    ("a snapshot shows later animals", &[LATER], Live(Part::Pets)),
    ("a snapshot shows later keys", &[LATER], Live(Part::Keys)),
    ("a snapshot shows later records", &[LATER], Live(Part::Records)),
    ("a snapshot counts too many animals", &[FRESH, ORDER], Counts(|it| it.pets += 1)),
    ("a snapshot counts too many keys", &[FRESH, ORDER], Counts(|it| it.keys += 1)),
    ("a snapshot counts too many records", &[FRESH, ORDER], Counts(|it| it.records += 1)),
    ("a new store has a key", &[FRESH], Highest(|it| it.key = it.key.or(Some(KeyId(0))))),
    ("a new store has an animal", &[FRESH], Highest(|it| it.pet = it.pet.or(Some(PetId(0))))),
    ("a batch is above its limit", &[ORDER, LATER], Limit(Part::Records, |_| u32::MAX)),
    ("animals follow a small batch", &[ORDER, LATER], Limit(Part::Pets, |limit| limit.min(3))),
    ("a snapshot fails after a second", &[LATER], SnapshotFault::Expires),
    (
        "a snapshot reads the ids of records as text",
        &[ORDER],
        Records(|records| {
            let bytes = records.iter_mut().flat_map(|record| &mut record.id.0);
            bytes.filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        }),
    ),
    ("records are out of order", &[ORDER, LATER], Records(|records| records.reverse())),
    (
        "a snapshot leaves out records without an animal",
        &[ORDER, MOVERS],
        Records(|records| records.retain(|record| record.pet.0 < 70_000)),
    ),
    (
        "a snapshot's highest animal identifier is one too low",
        &[COPIED, DELETED],
        Highest(|it| it.pet = it.pet.map(|PetId(id)| PetId(id - i64::from(id < 1000)))),
    ),
    (
        "a snapshot forgets that the second key was removed",
        &[COPIED],
        Highest(|it| it.key = it.key.map(|KeyId(id)| KeyId(id - i64::from(id == 2)))),
    ),
    (
        "a snapshot has at most a million as highest animal identifier",
        &[COPIED],
        Highest(|it| it.pet = it.pet.min(Some(PetId(1_000_000)))),
    ),
    (
        "a snapshot has at most a million as highest key identifier",
        &[COPIED],
        Highest(|it| it.key = it.key.min(Some(KeyId(1_000_000)))),
    ),
];

/// Returns a flaw for each fault of a snapshot.
pub(crate) fn flaws() -> Vec<Flaw> {
    let made = |&(what, caught_by, fault): &(&str, _, _)| {
        Flaw::made(what.to_owned(), caught_by, move |it| snapshots(it, fault))
    };
    SNAPSHOTS.iter().map(made).collect()
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("the highest animal identifier is kept, but not used", &[COPIED], |it| {
        it.write_rows.edit_input(|(_, rows)| rows.highest.pet = None);
        snapshots(it, Highest(|highest| highest.pet = Some(PetId(3_000_000))));
    }),
    Flaw::new("a write of rows ignores the highest key identifier", &[COPIED], |it| {
        it.write_rows.edit_input(|(_, rows)| rows.highest.key = None);
    }),
    Flaw::new("reopening a store loses its highest identifiers", &[COPIED, REOPENED], |it| {
        it.reopened = Some(Box::new(|rows, _| rows.highest = HighestIds::default()));
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
    Flaw::new("a write of rows loses the last use of a key", &[WRITTEN], |it| {
        it.write_rows.edit_input(|(_, rows)| {
            rows.keys.iter_mut().for_each(|key| key.last_used_at = None);
        });
    }),
    Flaw::new("a write of rows counts no animals", &[WRITTEN], |it| {
        it.write_rows.edit_output(|_, _, added| *added = 0);
    }),
    Flaw::new("an addition of many animals counts one too many", &[LARGE, BATCH], |it| {
        it.add_new.edit_output(|_, _, added| *added += 1);
    }),
    Flaw::new("an addition of many animals leaves the last one out", &[LARGE, EVERYWHERE], |it| {
        it.add_new.edit_input(|(pets, _)| drop(pets.pop()));
        it.add_new.edit_output(|_, (pets, _), added| *added = pets.len() as u64);
    }),
    Flaw::new("animals that the store holds already are counted as new", &[WRITTEN], |it| {
        it.write_rows.edit_output(|_, (_, rows), added| *added = rows.pets.len() as u64);
    }),
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
    Flaw::new("a repeated batch is added again", &[BATCH], |it| {
        it.add_new.edit_input(|(_, request)| *request = None);
    }),
    Flaw::new("a repeated batch counts its animals", &[BATCH], |it| {
        it.add_new.edit_output(|_, (pets, _), added| *added = pets.len() as u64);
    }),
    Flaw::new("another batch under one id counts as a repeat", &[BATCH], |it| {
        it.add_new.replace(|store, (pets, request)| async move {
            Ok(store.add_new(pets, request).await.unwrap_or_default())
        });
    }),
    Flaw::new("a batch looks its record up in another transaction", &[BATCH], |it| {
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
    })
    .on_one_thread(),
    Flaw::new("one call adds only 24 animals", &[LARGE], |it| it.max_batch = 24),
    Flaw::new("new animals are added in reverse order", &[LARGE, EVERYWHERE], |it| {
        it.add_new.edit_input(|(pets, _)| pets.reverse());
    }),
    Flaw::new("only 9,999 animals are added", &[LARGE], |it| {
        it.max_batch = 10_000;
        it.add_new.edit_input(|(pets, _)| pets.truncate(9_999));
    }),
];
