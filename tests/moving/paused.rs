//! Commands that are stopped while a test checks their progress.

use std::{thread, time::Duration};

use crate::support::{
    command::{Finished, Running, ended, signal},
    wait,
};

/// The time for which a command runs between two checks. It is short enough for at most one batch.
const STRETCH: Duration = Duration::from_millis(30);

/// Runs a command for one stretch at a time until `done` returns `true`, and leaves the command stopped. The command is
/// also stopped while `done` runs.
#[track_caller]
pub(crate) fn run_until(running: &Running, what: &str, mut done: impl FnMut() -> bool) {
    wait::until(what, || {
        signal(running, "CONT");
        thread::sleep(STRETCH);
        signal(running, "STOP");
        done()
    });
}

/// Sends a signal to a command, which may be stopped, and waits for its end. Standard input stays open until then.
#[track_caller]
pub(crate) fn end(running: Running, name: &str) -> Finished {
    signal(&running, name);
    signal(&running, "CONT");
    ended(running)
}
