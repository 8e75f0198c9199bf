//! Waits for events, on machines of any speed.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

/// The time limit for an event on a slow, shared machine. Only a failing test waits so long.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// The time limit for an answer of the service. The clients of the tests use it as their timeout.
pub(crate) const ANSWER: Duration = Duration::from_secs(50);

/// The shortest and the longest pause between two polls. A pause is a quarter of the time waited so far, because polls
/// cost time: some start a process, or run a script in a browser.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Polls until `happened` returns `true`. Returns the time until the successful poll began.
#[track_caller]
pub(crate) fn until(what: &str, happened: impl FnMut() -> bool) -> Duration {
    within(LIMIT, what, happened)
}

/// Polls like [`until`], but panics after `limit`. A test with a limit below [`LIMIT`] must have `#[needs(quiet)]`.
#[track_caller]
pub(crate) fn within(limit: Duration, what: &str, mut happened: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    loop {
        // A poll that began in time counts, even if it ends after the limit.
        let asked = start.elapsed();
        if happened() {
            return asked;
        }
        assert!(asked < limit, "did not happen within {limit:?}: {what}");
        thread::sleep((start.elapsed() / 4).clamp(MIN_PAUSE, MAX_PAUSE));
    }
}

/// Repeats `work` in `threads` threads until `script` ends. Panics afterwards if `work` has panicked.
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
