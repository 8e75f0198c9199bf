//! A time limit for a test that may never end.

use std::{
    io::{self, Write as _},
    process,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

/// Much longer than a sound test takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(3);

/// Limits the time of the calling test: after three minutes, the process ends with the name of the test. A limit of the
/// runtime does not suffice, because a task that never waits stops the clock of its runtime.
pub fn limit_time() {
    thread_local! {
        // Each test has its own thread. The end of the thread drops the sender.
        static RUNNING: Sender<()> = start();
    }
    RUNNING.with(|_| {});
}

fn start() -> Sender<()> {
    let (running, ended) = mpsc::channel();
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Libtest does not capture this line.
            let _ = writeln!(io::stderr(), "the test {test} does not end: {LIMIT:?} are over");
            process::abort();
        }
    });
    running
}
