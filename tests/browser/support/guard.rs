//! Ends processes that outlive their test: statics are not dropped when the test process ends.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Starts a shell that waits for the end of this process, then kills `process` and removes `folder`. A negative number
/// is a process group.
///
/// The returned value holds the pipe whose end the shell waits for.
pub(crate) fn guard(process: &str, folder: &Path) -> Child {
    Command::new("sh")
        .args(["-c", "read -r _; kill -s KILL -- \"$0\"; rm -rf \"$1\""])
        .arg(process)
        .arg(folder)
        // In its own group, so that Ctrl-C at the terminal does not reach the shell.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
