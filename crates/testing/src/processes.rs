//! Finds processes in `/proc`, and signals them by the `kill` that is built into `sh`: a bare Debian has no programs
//! `ps` and `kill`.

use std::{
    fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::binaries::run;

/// Returns the children of the process `parent`.
pub(crate) fn children_of(parent: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    names.filter(|name| status(name).is_some_and(|(_, of)| of == parent)).collect()
}

/// Returns whether a process still runs. A zombie does not.
pub(crate) fn runs(process: &str) -> bool {
    status(process).is_some_and(|(state, _)| state != "Z" && state != "X")
}

/// Sends a signal, such as `KILL`.
pub(crate) fn send(signal: &str, processes: &[String]) -> Result<(), String> {
    let script = "kill -s \"$0\" \"$@\"";
    run(Command::new("sh").args(["-c", script, signal]).args(processes)).map(drop)
}

/// Returns whether every thread of a process is stopped. The signal `STOP` needs a moment to stop all threads.
pub(crate) fn is_stopped(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lines = threads.map(|thread| fs::read_to_string(thread.path().join("stat")));
    lines
        .flatten()
        .all(|line| line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

/// Polls until `happened` returns `true`, for a minute at most.
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !happened() {
        if start.elapsed() > Duration::from_mins(1) {
            return Err(format!("did not happen within a minute: {what}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Returns the state and the parent of a process (proc(5)). The program's name before these fields may contain any
/// character.
fn status(process: &str) -> Option<(String, String)> {
    process.parse::<u32>().ok()?;
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}
