//! Ends processes that outlive their test. Statics are not dropped when the test process ends.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Starts a process that waits for this process to end, then kills `process` and removes `folder`. A negative number
/// is a process group.
///
/// The guard waits for the end of a pipe whose other end the returned value holds.
pub(crate) fn guard(process: &str, folder: &Path) -> Child {
    Command::new("sh")
        .args(["-c", "read -r _; kill -s KILL -- \"$0\"; rm -rf \"$1\""])
        .arg(process)
        .arg(folder)
        // In its own process group, so that Ctrl-C on the terminal does not reach it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
