//! Flaws of each way in which rows go in and out of a store: each way changes several fields of each row, or every second
//! handle fails.

use petstore_domain::{Added, ApiKey, CategoryId, IdempotencyRecord, KeyName, Pet, PetName};

use crate::{
    archives::{
        SnapshotFault::{Keys, Pets, Records},
        snapshots,
    },
    faults::{Answer, Faults},
    flaw::Flaw,
    names::{
        AT_ONCE, BATCH, COMPLETE, COPIED, DELETED, DROPPED, ELSEWHERE, EQUAL, EVERYWHERE, EXPIRY,
        FILLS, GIVEN, GROW, HIGHEST, LARGE, LATER, MODEL, MOVERS, ONE_SAVE, OPENED, ORDER, OTHERS,
        OUTAGE, PAUSE, REFUSED, REFUSES, REOPENED, REPLACED, REPLAY, RING, SEALED, SEALS, SOON,
        SPARES, TOGETHER, USES, WALK, WHOLE, WRITERS, WRITTEN,
    },
};

const READS: [&str; 6] = ["find", "find none", "list", "load", "snapshot", "state"];

/// Lets every second handle fail in the calls that `fails` selects.
fn fail_elsewhere(it: &mut Faults, fails: fn(&str) -> bool) {
    it.answer = Box::new(move |store, call, _| {
        if store.is_another() && fails(call) { Answer::Unavailable } else { Answer::AsUsual }
    });
}

fn change_pet(pet: &mut Pet) {
    (pet.name, pet.category_id) = (PetName::parse("lost").unwrap(), CategoryId(77));
    pet.status = None;
}

fn change_key(key: &mut ApiKey) {
    (key.name, key.prefix) = (KeyName::parse("lost").unwrap(), String::new());
    (key.created_at.0, key.expires_at) = (key.created_at.0 | 1, None);
    (key.revoked_at, key.last_used_at) = (None, None);
}

fn change_record(record: &mut IdempotencyRecord) {
    (record.at.0, record.pet.0) = (record.at.0 - 1, record.pet.0 + 1);
    record.fingerprint.0.reverse();
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "every second handle fails to read",
        &[
            COPIED, DELETED, ELSEWHERE, EQUAL, EVERYWHERE, FILLS, GIVEN, HIGHEST, LATER, MODEL,
            MOVERS, ONE_SAVE, OPENED, ORDER, OTHERS, REFUSES, REOPENED, REPLACED, RING, SEALED,
            SEALS, TOGETHER, USES, WALK, WHOLE, WRITTEN,
        ],
        |it| fail_elsewhere(it, |call| READS.contains(&call)),
    ),
    Flaw::new(
        "every second handle fails to write",
        &[
            AT_ONCE, BATCH, COMPLETE, DELETED, EQUAL, EVERYWHERE, EXPIRY, GIVEN, GROW, HIGHEST,
            LATER, MODEL, MOVERS, ONE_SAVE, OPENED, PAUSE, REFUSED, REFUSES, REOPENED, REPLAY,
            RING, SEALED, SEALS, SOON, SPARES, TOGETHER, USES, WALK, WRITERS, WRITTEN,
        ],
        |it| fail_elsewhere(it, |call| !READS.contains(&call)),
    ),
    Flaw::new(
        "a list changes animals",
        &[
            GIVEN, MODEL, BATCH, COMPLETE, DELETED, DROPPED, ELSEWHERE, EVERYWHERE, FILLS, HIGHEST,
            LARGE, MOVERS, OPENED, OTHERS, OUTAGE, REFUSED, REFUSES, REOPENED, REPLAY, SEALED,
            WALK, WHOLE, WRITTEN,
        ],
        |it| {
            it.list.edit_output(|_, _, list| list.value.pets.iter_mut().for_each(change_pet));
        },
    ),
    Flaw::new(
        "a find changes animals",
        &[GIVEN, SEALED, DROPPED, ELSEWHERE, OUTAGE, REPLACED, SEALS],
        |it| {
            it.find.edit_output(|_, _, found| found.value.iter_mut().for_each(change_pet));
        },
    ),
    Flaw::new(
        "a replay names another animal",
        &[MODEL, REPLAY, AT_ONCE, DELETED, REOPENED],
        |it| {
            it.add.edit_output(|_, _, added| {
                if let Added::Replayed(added) = added {
                    added.id.0 += 1;
                }
            });
        },
    ),
    Flaw::new(
        "a snapshot changes animals",
        &[ORDER, COMPLETE, EVERYWHERE, FILLS, LATER, MOVERS, OTHERS, REFUSES, WHOLE, WRITTEN],
        |it| snapshots(it, Pets(|pets| pets.iter_mut().for_each(change_pet))),
    ),
    Flaw::new(
        "a load by every second handle changes keys",
        &[REFUSES, EVERYWHERE, FILLS, MOVERS, OTHERS, WRITTEN],
        |it| {
            it.load.edit_output(|store, _, loaded| {
                let keys = loaded.iter_mut().flat_map(|loaded| &mut loaded.keys);
                keys.filter(|_| store.is_another()).for_each(change_key);
            });
        },
    ),
    Flaw::new("a write of rows changes keys", &[WRITTEN, EVERYWHERE, FILLS, MOVERS, WHOLE], |it| {
        it.write_rows.edit_input(|(_, rows)| rows.keys.iter_mut().for_each(change_key));
    }),
    Flaw::new(
        "a snapshot changes keys",
        &[ORDER, EVERYWHERE, FILLS, LATER, MOVERS, OTHERS, REFUSES, WHOLE, WRITTEN],
        |it| snapshots(it, Keys(|keys| keys.iter_mut().for_each(change_key))),
    ),
    Flaw::new(
        "a write of rows changes records",
        &[WRITTEN, EVERYWHERE, FILLS, MOVERS, ORDER, WHOLE],
        |it| {
            it.write_rows.edit_input(|(_, rows)| rows.records.iter_mut().for_each(change_record));
        },
    ),
    Flaw::new(
        "a snapshot changes records",
        &[ORDER, BATCH, DELETED, EVERYWHERE, FILLS, LATER, MOVERS, OTHERS, REFUSES, WHOLE, WRITTEN],
        |it| snapshots(it, Records(|records| records.iter_mut().for_each(change_record))),
    ),
];
