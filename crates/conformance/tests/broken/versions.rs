//! Flaws of the catalogue version. A catalogue version of `MemoryStore` has 128 bits: a random number in the upper 64
//! bits, and the number of changes in the lower 64 bits.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, PetRepository as _, StoreError, Versioned};
use tokio::task::yield_now;

use crate::{
    faults::{Handle, Version},
    flaw::{Flaw, Seen},
};

/// The lower 32 bits of a version, which are enough for the changes of a test.
const COUNT: u128 = 0xffff_ffff;

/// Returns the old version for `lasts` after the first call that should return a newer version.
fn stale(store: &Handle, now: Version, lasts: Duration) -> Version {
    let mut seen = store.own.seen.lock().unwrap();
    if seen.version.is_none() {
        seen.version = now;
    }
    if seen.version != now && seen.at.get_or_insert_with(Instant::now).elapsed() > lasts {
        *seen = Seen { version: now, at: None };
    }
    seen.version
}

const AT_ONCE: &str = "the_version_is_that_of_reads_and_answered_at_once";
const NEVER_BACK: &str = "a_version_never_comes_back";
const READS: &str = "reads_under_one_version_are_equal";
const TOGETHER: &str = "an_animal_and_its_record_appear_together";
const WRITE: &str = "a_write_shows_everywhere_and_changes_nothing_else";

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("the fifth addition by a handle fails", &[READS, TOGETHER], |it| {
        it.add.replace(|store, (pet, request)| async move {
            if store.own.count.fetch_add(1, Ordering::Relaxed) == 4 {
                return Err(StoreError::refused("no more").into());
            }
            store.add(pet, request).await
        });
    }),
    Flaw::new("two of three calls of `version` take 55 ms", &[AT_ONCE], |it| {
        it.own_version = |store, version| {
            if store.own.count.fetch_add(1, Ordering::Relaxed) % 3 > 0 {
                thread::sleep(Duration::from_millis(55));
            }
            version
        };
    }),
    Flaw::new("the version repeats after 16 changes", &[NEVER_BACK], |it| {
        it.versions = |_, version| version & !COUNT | version & 0xf;
    }),
    Flaw::new("the versions of all stores count from 0", &[NEVER_BACK], |it| {
        it.versions = |_, version| version & COUNT;
    }),
    Flaw::new("every second addition does not change the version", &[NEVER_BACK, WRITE], |it| {
        it.versions = |_, version| version & !1;
    }),
    Flaw::new("the version count restarts after reopening", &[NEVER_BACK], |it| {
        it.versions = |store, version| {
            let first = CatalogueVersion(version & COUNT);
            version - store.own.seen.lock().unwrap().version.get_or_insert(first).0
        };
    }),
    Flaw::new("the version of a handle counts only its own additions", &[WRITE, READS], |it| {
        it.versions = |store, version| {
            let added = store.own.count.load(Ordering::SeqCst);
            version & !COUNT | u128::from(added.unsigned_abs())
        };
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet, request).await;
            store.own.count.fetch_add(1, Ordering::SeqCst);
            added
        });
    }),
    Flaw::new(
        "`version` returns the same version for an hour",
        &[AT_ONCE, WRITE, NEVER_BACK, "what_another_process_does_shows_here"],
        |it| it.own_version = |store, now| stale(store, now, Duration::from_hours(1)),
    ),
    Flaw::new(
        "three of four additions by another handle change the version after 150 ms",
        &[WRITE, "an_addition_elsewhere_changes_the_version_within_100_ms"],
        |it| {
            it.own_version = |store, now| {
                let is_slow = now.is_some_and(|now| !now.0.is_multiple_of(4));
                stale(store, now, Duration::from_millis(if is_slow { 150 } else { 0 }))
            };
            it.add.replace(|store, (pet, request)| async move {
                let added = store.add(pet, request).await;
                *store.own.seen.lock().unwrap() = Seen::default();
                added
            });
        },
    ),
    Flaw::new("a list and its version are of two snapshots", &[READS], |it| {
        it.list.replace(|store, query| async move {
            let version = store.version();
            yield_now().await;
            let list = store.list(query).await?;
            Ok(Versioned { version, ..list })
        });
    })
    .on_one_thread(),
    Flaw::new("a list has no version", &[AT_ONCE, READS], |it| {
        it.list.edit_output(|_, _, list| list.version = None);
    }),
    Flaw::new("the first page has no version", &[AT_ONCE], |it| {
        it.list.edit_output(|_, query, list| _ = list.version.take_if(|_| query.after.is_none()));
    }),
    Flaw::new("an empty page has no version", &[AT_ONCE], |it| {
        it.list.edit_output(|_, _, list| _ = list.version.take_if(|_| list.value.pets.is_empty()));
    }),
    Flaw::new("finding an animal returns no version", &[AT_ONCE], |it| {
        it.find.edit_output(|_, _, found| _ = found.version.take_if(|_| found.value.is_some()));
    }),
    Flaw::new("finding no animal returns no version", &[AT_ONCE], |it| {
        it.find.edit_output(|_, _, found| _ = found.version.take_if(|_| found.value.is_none()));
    }),
    Flaw::new(
        "the first version after a pause of two seconds is old",
        &["after_a_pause_the_version_is_not_an_old_one"],
        |it| {
            it.own_version = |store, now| {
                let mut seen = store.own.seen.lock().unwrap();
                let is_old = seen.at.is_some_and(|at| at.elapsed() > Duration::from_secs(2));
                let shown = if is_old { seen.version } else { now };
                *seen = Seen { version: now, at: Some(Instant::now()) };
                shown
            };
        },
    ),
];
