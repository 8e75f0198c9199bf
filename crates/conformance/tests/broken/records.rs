//! Flaws of idempotency.

use petstore_domain::{
    Added, Archive as _, CategoryId, Fingerprint, IdempotencyRecord, IdempotencyRequest, NewPet,
    PetId, PetName, PetRepository as _, Purged, Rows, StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{
    faults::Faults,
    flaw::Flaw,
    names::{
        AT_ONCE, DELETED, DROPPED, EXPIRY, IDS, MODEL, ORDER, PURGE, REOPENED, REPLAY, SPARES,
        TOGETHER, WRITTEN,
    },
};

/// Returns the valid record for `request`.
async fn record(store: &MemoryStore, request: &IdempotencyRequest) -> Option<IdempotencyRecord> {
    let mut snapshot = store.snapshot().await.unwrap();
    let records = snapshot.records(None, u32::MAX).await.unwrap();
    let counts = |record: &IdempotencyRecord| record.id == request.id && record.at > request.cutoff;
    records.into_iter().find(counts)
}

type ChangeRequest = fn(&mut IdempotencyRequest);
type ClearField = fn(&mut NewPet);

/// Changes of the request of an addition.
const REQUESTS: [(&str, &[&str], ChangeRequest); 8] = [
    ("a record expires a millisecond too late", &[EXPIRY], |it| it.cutoff.0 -= 1),
    ("a record expires a millisecond too early", &[EXPIRY], |it| it.cutoff.0 += 1),
    ("a time has 32 bits", &[EXPIRY], |it| it.at.0 = it.at.0.min(i32::MAX.into())),
    ("the clock of the machine decides", &[EXPIRY], |it| it.cutoff.0 = 1_800_000_000_000),
    ("the first bit of a record's id is ignored", &[IDS], |it| it.id.0[0] &= !128),
    ("the last bit of a record's id is ignored", &[IDS], |it| it.id.0[15] &= !1),
    ("the case of letters in an id is ignored", &[IDS], |it| it.id.0.make_ascii_lowercase()),
    ("a record's id ends at its first zero byte", &[IDS], |it| {
        let end = it.id.0.iter().position(|byte| *byte == 0);
        it.id.0[end.unwrap_or(16)..].fill(0);
    }),
];

/// Changes of an animal before its request is compared with the record, so that the record lacks a field.
const IGNORED: [(&str, ClearField); 3] = [
    ("name", |pet| pet.name = PetName::parse("Rex").unwrap()),
    ("category", |pet| pet.category_id = CategoryId(1)),
    ("status", |pet| pet.status = None),
];

/// Returns a flaw for each change of a request.
pub(crate) fn flaws() -> Vec<Flaw> {
    let requests = REQUESTS.map(|(what, caught_by, change)| {
        Flaw::made(what.to_owned(), caught_by, move |it| {
            it.add.edit_input(move |(_, request)| request.iter_mut().for_each(change));
        })
    });
    let ignored = IGNORED.map(|(field, clear)| {
        let what = format!("an animal with another {field} counts as a repeat");
        Flaw::made(what, &[EXPIRY], move |it| {
            it.add.edit_input(move |(pet, request)| {
                let Some(request) = request else { return };
                let mut cleared = pet.clone();
                clear(&mut cleared);
                request.fingerprint = Fingerprint::new(&cleared);
            });
        })
    });
    requests.into_iter().chain(ignored).collect()
}

/// Makes replays read the row of the animal. With `needs_row`, a replay fails without the row.
fn replay_rows(it: &mut Faults, needs_row: bool) {
    it.add.replace(move |store, (pet, request)| async move {
        let added = store.add(pet, request).await?;
        let Added::Replayed(pet) = added else { return Ok(added) };
        match store.find(pet.id).await?.value {
            Some(found) => Ok(Added::Replayed(found)),
            None if needs_row => Err(StoreError::corrupt("a record", "its animal exists").into()),
            None => Ok(Added::Replayed(pet)),
        }
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "a handle knows only its own records",
        &[WRITTEN, ORDER, REOPENED, AT_ONCE, EXPIRY],
        |it| {
            it.add.replace(|store, (pet, mut request)| async move {
                if let Some(request) = &mut request {
                    request.id.0[0] ^= 100 + store.number;
                }
                store.add(pet, request).await
            });
        },
    ),
    Flaw::new("a reused idempotency key is a failure of the store", &[EXPIRY], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet, request).await;
            added.map_err(|_| StoreError::refused("the record is taken").into())
        });
    }),
    Flaw::new("a record is looked up in another transaction", &[AT_ONCE], |it| {
        it.add.replace(|store, (pet, mut request)| async move {
            if let Some(request) = &mut request {
                let is_new = record(&store, request).await.is_none();
                yield_now().await;
                request.cutoff = if is_new { Timestamp(i64::MAX) } else { request.cutoff };
            }
            store.add(pet, request).await
        });
    })
    .on_one_thread(),
    Flaw::new("an animal is written before its record", &[DROPPED, TOGETHER, AT_ONCE], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let Some(request) = request else { return store.add(pet, None).await };
            if record(&store, &request).await.is_some() {
                return store.add(pet, Some(request)).await;
            }
            let added = store.add(pet, None).await?;
            yield_now().await;
            let Added::Created(pet) = &added else { return Ok(added) };
            let records = vec![request.into_record(pet.id)];
            // The write fails if another task has written a record with this id.
            let rows = Rows { records, ..Rows::default() };
            let _ = store.write_rows(WriterRole::Service, rows).await;
            Ok(added)
        });
    })
    .on_one_thread(),
    Flaw::new(
        "a repeat counts as an addition",
        &[AT_ONCE, DELETED, MODEL, PURGE, REOPENED, REPLAY, SPARES],
        |it| {
            it.add.edit_output(|_, _, added| {
                let (Added::Created(pet) | Added::Replayed(pet)) = added;
                *added = Added::Created(pet.clone());
            });
        },
    ),
    Flaw::new(
        "a repeat adds its animal again",
        &[AT_ONCE, EXPIRY, PURGE, REPLAY, REOPENED],
        |it| {
            it.add.replace(|store, (pet, request)| async move {
                let added = store.add(pet.clone(), request).await?;
                if matches!(added, Added::Replayed(_)) {
                    store.add(pet, None).await?;
                }
                Ok(added)
            });
        },
    ),
    Flaw::new("a purge deletes the animals of its records", &[PURGE], |it| {
        it.purge.replace(|store, (cutoff, limit)| async move {
            let records = store.snapshot().await?.records(None, u32::MAX).await?;
            let purged = store.purge_expired(cutoff, limit).await?;
            let old = records.into_iter().filter(|record| record.at <= cutoff);
            old.for_each(|record| _ = store.delete_pet(record.pet));
            Ok(purged)
        });
    }),
    Flaw::new("a purge with a limit of 0 has no limit", &[PURGE], |it| {
        it.purge
            .edit_input(|(_, limit)| *limit = limit.checked_sub(1).map_or(u32::MAX, |it| it + 1));
    }),
    Flaw::new("one record more is purged than the limit", &[PURGE], |it| {
        it.purge.edit_input(|(_, limit)| *limit += u32::from(*limit > 0));
    }),
    Flaw::new("a purge that deletes nothing counts one record", &[PURGE, MODEL], |it| {
        it.purge.edit_output(|_, _, purged| purged.deleted = purged.deleted.max(1));
    }),
    Flaw::new("a purge always says that no expired record is left", &[PURGE], |it| {
        it.purge.edit_output(|_, _, Purged { more, .. }| *more = false);
    }),
    Flaw::new("a purge always says that expired records are left", &[PURGE], |it| {
        it.purge.edit_output(|_, _, Purged { more, .. }| *more = true);
    }),
    Flaw::new("a purge deletes records a millisecond too early", &[PURGE, REOPENED], |it| {
        it.purge.edit_input(|(cutoff, _)| cutoff.0 += 1);
    }),
    Flaw::new("a purge also deletes records that were replaced", &[SPARES], |it| {
        it.purge.replace(|store, (cutoff, limit)| async move {
            let old = store.snapshot().await?.records(None, u32::MAX).await?;
            let is_old = old.iter().any(|record| record.at <= cutoff);
            yield_now().await;
            let cutoff = if is_old { Timestamp(i64::MAX) } else { cutoff };
            store.purge_expired(cutoff, limit).await
        });
    })
    .on_one_thread(),
    Flaw::new("a replay returns the present row", &[REPLAY], |it| replay_rows(it, false)),
    Flaw::new("a deleted animal's identifier is assigned again", &[DELETED], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let last = store.snapshot().await?.pets(None, u32::MAX).await?.pop();
            let next = PetId(last.map_or(1, |last| last.id.0 + 1));
            let added = store.add(pet.clone(), request).await?;
            let again = Added::Created(pet.with_id(next));
            Ok(if matches!(added, Added::Created(_)) { again } else { added })
        });
    }),
    Flaw::new("a replay fails if its animal has no row", &[REPLAY, DELETED], |it| {
        replay_rows(it, true);
    }),
];
