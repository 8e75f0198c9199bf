//! Ends processes that outlive their test: statics are not dropped when the test process ends.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Starts a shell that kills `process` and removes `folder` once this process ends or drops the returned value, which
/// holds a pipe to the shell. A negative `process` is a process group.
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
