//! Commands that stand still whenever a test looks how far they are.

use std::{thread, time::Duration};

use crate::support::{
    command::{Finished, Running, ended, signal},
    wait,
};

/// How long a command runs between two looks at it: a batch at most.
const STRETCH: Duration = Duration::from_millis(30);

/// Lets a command run, a stretch at a time, until `done`, and leaves it standing still. It gets no
/// further while `done` looks, however long that takes.
#[track_caller]
pub(crate) fn run_until(running: &Running, what: &str, mut done: impl FnMut() -> bool) {
    wait::until(what, || {
        signal(running, "CONT");
        thread::sleep(STRETCH);
        signal(running, "STOP");
        done()
    });
}

/// Sends a signal to a command, whether or not it stands still, and waits for its end, which must come: what the
/// command leaves behind. It has its standard input still.
#[track_caller]
pub(crate) fn end(running: Running, name: &str) -> Finished {
    signal(&running, name);
    signal(&running, "CONT");
    ended(running)
}
