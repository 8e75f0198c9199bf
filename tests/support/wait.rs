//! Waiting for what happens by itself, without depending on how fast.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How long something that must happen may take on a slow and shared machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Polls until `happened`; how long that took.
#[track_caller]
pub(crate) fn until(what: &str, happened: impl FnMut() -> bool) -> Duration {
    within(PATIENCE, what, happened)
}

/// Polls until `happened`, at most for `patience`.
#[track_caller]
pub(crate) fn within(
    patience: Duration,
    what: &str,
    mut happened: impl FnMut() -> bool,
) -> Duration {
    let start = Instant::now();
    loop {
        // A poll that began in time counts, however long it took.
        let asked = start.elapsed();
        if happened() {
            return asked;
        }
        assert!(asked < patience, "did not happen within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
