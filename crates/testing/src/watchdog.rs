//! Ends a server, or a pooler, when the process that started it ends, for whatever reason.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Stdio},
};

use crate::{
    binaries::{as_server_user, folder},
    trouble::Trouble,
};

/// Waits until its standard input is closed, which the kernel does for a process that was killed.
/// A server that is halted would not hear that it shall stop.
const SCRIPT: &str = r#"
cat >/dev/null
kill -CONT "$(head -n 1 "$1/data/postmaster.pid")"
"$0/pg_ctl" -D "$1/data" -m immediate -w stop
rm -rf "$1"
"#;

/// A shell whose script waits for this process to end, or for the value to be dropped.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Runs one that stops the server in a folder and removes it.
    pub(crate) fn of(home: &Path) -> Result<Self, Trouble> {
        Self::run(SCRIPT, [&folder()?, home], Stdio::null())
    }

    /// Runs `script`, with `words` as `$0` and `$1`.
    pub(crate) fn run(script: &str, words: [&Path; 2], log: Stdio) -> Result<Self, Trouble> {
        let mut shell = as_server_user(Path::new("/bin/sh"));
        shell.args(["-c", script]).args(words).current_dir("/");
        // Of its own group, so that Ctrl-C at the terminal does not reach it.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        shell.spawn().map(Self).map_err(|error| format!("cannot run a shell: {error}"))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Nothing is left to do about a shell that cannot be waited for.
        let _ = self.0.wait();
    }
}
