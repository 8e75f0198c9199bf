//! Waiting for what happens by itself, without depending on how fast.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

/// How long something that must happen may take on a slow and shared machine. No test waits so long
/// unless it fails.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// How long an answer may take. A test that fails waits for no client of its own for longer.
pub(crate) const ANSWER: Duration = Duration::from_secs(50);

/// The pauses between two polls: a quarter of the time that was waited, as what has taken long may take longer.
/// A poll may be a process or a script in a browser.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Polls until `happened`; how long that took.
#[track_caller]
pub(crate) fn until(what: &str, happened: impl FnMut() -> bool) -> Duration {
    within(LIMIT, what, happened)
}

/// Polls until `happened`, which must be within `limit`. A test with a limit below [`LIMIT`] is `#[needs(quiet)]`.
#[track_caller]
pub(crate) fn within(limit: Duration, what: &str, mut happened: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    loop {
        // A poll that began in time counts, however long it took.
        let asked = start.elapsed();
        if happened() {
            return asked;
        }
        assert!(asked < limit, "did not happen within {limit:?}: {what}");
        thread::sleep((start.elapsed() / 4).clamp(MIN_PAUSE, MAX_PAUSE));
    }
}

/// Repeats `work` in so many threads while `script` runs. If either panics, both end.
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
