//! Flaws of the catalogue version. A catalogue version of `MemoryStore` has 128 bits: a random number in the upper 64
//! bits, and the number of changes in the lower 64 bits.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{PetRepository, Versioned};
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Version},
    flaw::Flaw,
};

/// The lower 32 bits of a version, which are enough for the changes of a test.
const COUNT: u128 = 0xffff_ffff;

/// The result of `version`, and the time from which it is stale.
#[derive(Default)]
struct Shown {
    version: Version,
    stale_since: Option<Instant>,
}

/// Returns faults that make the result of `version` stale: the old version is returned for `lasts` after the first call
/// that should return a newer version.
fn stale(shown: Arc<Mutex<Shown>>, lasts: Duration) -> Faults {
    let own_version = move |now: Version| {
        let mut shown = shown.lock().unwrap();
        if shown.version.is_none() {
            shown.version = now;
        }
        if shown.version != now
            && shown.stale_since.get_or_insert_with(Instant::now).elapsed() > lasts
        {
            *shown = Shown { version: now, stale_since: None };
        }
        shown.version
    };
    Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
}

/// Returns faults that delay some calls of `version`. `slow` selects the calls by their number.
fn slow_version(slow: fn(u64) -> bool) -> Faults {
    let calls = AtomicU64::new(0);
    let own_version = move |version| {
        if slow(calls.fetch_add(1, Ordering::Relaxed)) {
            std::thread::sleep(Duration::from_millis(55));
        }
        version
    };
    Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
}

const AT_ONCE: &[&str] = &["the_version_is_that_of_reads_and_answered_at_once"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("every call of `version` takes 55 ms", AT_ONCE, |_| slow_version(|_| true)),
    Flaw::new("two of three calls of `version` take 55 ms", AT_ONCE, |_| {
        slow_version(|call| call % 3 > 0)
    }),
    Flaw::new("the version repeats after 16 changes", &["a_version_never_comes_back"], |_| {
        Faults::change_versions(|version| version & !COUNT | version & 0xf)
    }),
    Flaw::new("the versions of all stores count from 0", &["a_version_never_comes_back"], |_| {
        Faults::change_versions(|version| version & COUNT)
    }),
    Flaw::new(
        "every second addition does not change the version",
        &["a_version_never_comes_back", "a_write_shows_everywhere_and_changes_nothing_else"],
        |_| Faults::change_versions(|version| version & !1),
    ),
    Flaw::new(
        "the version count restarts after reopening",
        &["a_version_never_comes_back"],
        |notes| {
            let (epoch, first) = (notes.epoch, std::sync::OnceLock::new());
            Faults::change_versions(move |version| {
                let count = version & COUNT;
                epoch | (count - first.get_or_init(|| count))
            })
        },
    ),
    Flaw::new(
        "the version of a handle counts only its own additions",
        &["a_write_shows_everywhere_and_changes_nothing_else", "reads_under_one_version_are_equal"],
        |notes| {
            let (epoch, added) = (notes.epoch, Arc::new(AtomicU64::new(0)));
            let count = Arc::clone(&added);
            Faults::change_versions(move |_| epoch | u128::from(count.load(Ordering::SeqCst))).add(
                move |store, (pet, request)| {
                    let added = Arc::clone(&added);
                    async move {
                        let result = PetRepository::add(&*store, pet, request).await;
                        added.fetch_add(1, Ordering::SeqCst);
                        result
                    }
                },
            )
        },
    ),
    Flaw::new(
        "`version` returns the same version for an hour",
        &[
            "the_version_is_that_of_reads_and_answered_at_once",
            "a_write_shows_everywhere_and_changes_nothing_else",
            "a_version_never_comes_back",
        ],
        |_| stale(Arc::default(), Duration::from_hours(1)),
    ),
    Flaw::new(
        "an addition by another handle changes the version after 400 ms",
        &[
            "a_write_shows_everywhere_and_changes_nothing_else",
            "an_addition_elsewhere_changes_the_version_within_100_ms",
        ],
        |_| {
            let shown: Arc<Mutex<Shown>> = Arc::default();
            stale(Arc::clone(&shown), Duration::from_millis(400)).add(
                move |store, (pet, request)| {
                    let shown = Arc::clone(&shown);
                    async move {
                        let added = PetRepository::add(&*store, pet, request).await;
                        *shown.lock().unwrap() = Shown::default();
                        added
                    }
                },
            )
        },
    ),
    Flaw::new(
        "a list and its version are of two snapshots",
        &["reads_under_one_version_are_equal"],
        |_| {
            Faults::default().list(|store, query| async move {
                let version = store.version();
                yield_now().await;
                let Versioned { value, .. } = PetRepository::list(&*store, query).await?;
                Ok(Versioned { value, version })
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "a list has no version",
        &["the_version_is_that_of_reads_and_answered_at_once", "reads_under_one_version_are_equal"],
        |_| {
            Faults::default().list(|store, query| async move {
                let Versioned { value, .. } = PetRepository::list(&*store, query).await?;
                Ok(Versioned { value, version: None })
            })
        },
    ),
    Flaw::new(
        "the first version after a pause of two seconds is old",
        &["after_a_pause_the_version_is_not_an_old_one"],
        |_| {
            let last: Mutex<Option<(Instant, Version)>> = Mutex::default();
            let own_version = move |now: Version| {
                let mut last = last.lock().unwrap();
                let old = last.filter(|(at, _)| at.elapsed() > Duration::from_secs(2));
                let shown = old.map_or(now, |(_, version)| version);
                *last = Some((Instant::now(), now));
                shown
            };
            Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
        },
    ),
];
