//! Waits for events, without depending on how fast they come.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

/// The time limit for an event on a slow and shared machine. Only a test that fails waits this long.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// The time limit for an answer. A failing test does not wait longer for a client of its own.
pub(crate) const ANSWER: Duration = Duration::from_secs(50);

/// The pauses between two polls: a quarter of the time waited so far, because a slow event may stay slow. A poll may
/// start a process or run a script in a browser.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Polls until `happened` and returns the time that this took.
#[track_caller]
pub(crate) fn until(what: &str, happened: impl FnMut() -> bool) -> Duration {
    within(LIMIT, what, happened)
}

/// Polls until `happened`, within `limit`. A test with a limit below [`LIMIT`] is `#[needs(quiet)]`.
#[track_caller]
pub(crate) fn within(limit: Duration, what: &str, mut happened: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    loop {
        // A poll that began in time counts, however long the poll took.
        let asked = start.elapsed();
        if happened() {
            return asked;
        }
        assert!(asked < limit, "did not happen within {limit:?}: {what}");
        thread::sleep((start.elapsed() / 4).clamp(MIN_PAUSE, MAX_PAUSE));
    }
}

/// Repeats `work` in `threads` threads while `script` runs. If either panics, both end.
pub(crate) fn beside<T>(threads: usize, work: impl Fn() + Sync, script: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let repeat = || {
        while !over.load(Ordering::SeqCst) {
            work();
        }
    };
    thread::scope(|scope| {
        let _over = EndOnDrop::new(&over);
        (0..threads).for_each(|_| drop(scope.spawn(repeat)));
        script()
    })
}
