//! Flaws of idempotency.

use petstore_domain::{
    Added, Archive as _, CategoryId, Fingerprint, IdempotencyRecord, IdempotencyRequest, NewPet,
    PetId, PetName, PetRepository as _, Purged, Rows, StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Handle},
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

/// Changes the request of an addition.
fn change_request(it: &mut Faults, change: fn(&Handle, &mut IdempotencyRequest)) {
    it.add.replace(move |store, (pet, mut request)| async move {
        if let Some(request) = &mut request {
            change(&store, request);
        }
        store.add(pet, request).await
    });
}

/// Ignores the field of an animal that `clear` sets, when a request is compared with its record.
fn ignore(it: &mut Faults, clear: fn(&mut NewPet)) {
    it.add.replace(move |store, (pet, mut request)| async move {
        let mut cleared = pet.clone();
        clear(&mut cleared);
        if let Some(request) = &mut request {
            request.fingerprint = Fingerprint::new(&cleared);
        }
        store.add(pet, request).await
    });
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
    Flaw::new("a record expires a millisecond too late", &[EXPIRY], |it| {
        change_request(it, |_, request| request.cutoff.0 -= 1);
    }),
    Flaw::new("a record expires a millisecond too early", &[EXPIRY], |it| {
        change_request(it, |_, request| request.cutoff.0 += 1);
    }),
    Flaw::new("the time of a record has 32 bits", &[EXPIRY], |it| {
        change_request(it, |_, request| request.at.0 = request.at.0.min(i32::MAX.into()));
    }),
    Flaw::new("records expire by the clock of the machine", &[EXPIRY], |it| {
        change_request(it, |_, request| request.cutoff = Timestamp(1_800_000_000_000));
    }),
    Flaw::new("an animal with another name counts as a repeat", &[EXPIRY], |it| {
        ignore(it, |pet| pet.name = PetName::parse("Rex").unwrap());
    }),
    Flaw::new("an animal of another category counts as a repeat", &[EXPIRY], |it| {
        ignore(it, |pet| pet.category_id = CategoryId(1));
    }),
    Flaw::new("an animal with another status counts as a repeat", &[EXPIRY], |it| {
        ignore(it, |pet| pet.status = None);
    }),
    Flaw::new("the first bit of a record's id is ignored", &[IDS], |it| {
        change_request(it, |_, request| request.id.0[0] &= !128);
    }),
    Flaw::new("the last bit of a record's id is ignored", &[IDS], |it| {
        change_request(it, |_, request| request.id.0[15] &= !1);
    }),
    Flaw::new("ids of records that differ only in the case of letters are equal", &[IDS], |it| {
        change_request(it, |_, request| request.id.0.make_ascii_lowercase());
    }),
    Flaw::new("a record's id ends at its first zero byte", &[IDS], |it| {
        change_request(it, |_, request| {
            if let Some(end) = request.id.0.iter().position(|byte| *byte == 0) {
                request.id.0[end..].fill(0);
            }
        });
    }),
    Flaw::new(
        "a handle knows only its own records",
        &[WRITTEN, ORDER, REOPENED, AT_ONCE, EXPIRY],
        |it| change_request(it, |store, request| request.id.0[0] ^= 100 + store.number),
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
