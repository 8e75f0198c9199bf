//! Flaws of the catalogue version. A catalogue version of `MemoryStore` has 128 bits: a random number in the upper 64
//! bits, and the number of changes in the lower 64 bits.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use petstore_domain::{PetRepository as _, Versioned};
use tokio::task::yield_now;

use crate::{
    faults::{Handle, Version},
    flaw::{Flaw, Seen},
    names::{ELSEWHERE, EQUAL, EVERYWHERE, NEVER_BACK, PAUSE, SOON, VERSION},
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

/// Returns the previous version if the last call was more than two seconds ago.
fn after_pause(store: &Handle, now: Version) -> Version {
    let mut seen = store.own.seen.lock().unwrap();
    let is_old = seen.at.is_none_or(|at| at.elapsed() > Duration::from_secs(2));
    let shown = if is_old { seen.version.or(now) } else { now };
    *seen = Seen { version: now, at: Some(Instant::now()) };
    shown
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("two of three calls of `version` take 55 ms", &[VERSION], |it| {
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
    Flaw::new("every second addition keeps the version", &[NEVER_BACK, EVERYWHERE], |it| {
        it.versions = |_, version| version & !1;
    }),
    Flaw::new("`version` stays for an hour", &[VERSION, EVERYWHERE, NEVER_BACK, ELSEWHERE], |it| {
        it.own_version = |store, now| stale(store, now, Duration::from_hours(1));
    }),
    Flaw::new("most additions elsewhere show after 150 ms", &[EVERYWHERE, SOON], |it| {
        it.own_version = |store, now| {
            let is_slow = now.is_some_and(|now| !now.0.is_multiple_of(4));
            stale(store, now, Duration::from_millis(if is_slow { 150 } else { 0 }))
        };
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet, request).await;
            *store.own.seen.lock().unwrap() = Seen::default();
            added
        });
    }),
    Flaw::new("the version of a handle changes only with its own writes", &[EVERYWHERE], |it| {
        it.own_version = |store, now| stale(store, now, Duration::from_hours(1));
        it.add.edit_output(|store, _, _| *store.own.seen.lock().unwrap() = Seen::default());
        it.add_new.edit_output(|store, _, _| *store.own.seen.lock().unwrap() = Seen::default());
        it.write_rows.edit_output(|store, _, _| *store.own.seen.lock().unwrap() = Seen::default());
    }),
    Flaw::new("a list and its version are of two snapshots", &[EQUAL], |it| {
        it.list.replace(|store, query| async move {
            let version = store.version();
            yield_now().await;
            let list = store.list(query).await?;
            Ok(Versioned { version, ..list })
        });
    })
    .on_one_thread(),
    Flaw::new("a list has no version", &[VERSION, EQUAL], |it| {
        it.list.edit_output(|_, _, list| list.version = None);
    }),
    Flaw::new("the first page has no version", &[VERSION], |it| {
        it.list.edit_output(|_, query, list| _ = list.version.take_if(|_| query.after.is_none()));
    }),
    Flaw::new("an empty page has no version", &[VERSION], |it| {
        it.list.edit_output(|_, _, list| _ = list.version.take_if(|_| list.value.pets.is_empty()));
    }),
    Flaw::new("finding an animal returns no version", &[VERSION], |it| {
        it.find.edit_output(|_, _, found| _ = found.version.take_if(|_| found.value.is_some()));
    }),
    Flaw::new("finding no animal returns no version", &[VERSION], |it| {
        it.find.edit_output(|_, _, found| _ = found.version.take_if(|_| found.value.is_none()));
    }),
    Flaw::new("after two seconds, a version is old", &[PAUSE], |it| {
        it.own_version = after_pause;
        it.add.edit_output(|store, _, _| *store.own.seen.lock().unwrap() = Seen::default());
    }),
];
