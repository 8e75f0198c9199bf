//! Ends a server, a pooler or a node when the process that started it ends, for whatever reason.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{
    binaries::{as_server_user, folder},
    processes,
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
        let mut shell = as_server_user(Path::new("/bin/sh"));
        shell.args(["-c", SCRIPT]).args([&folder()?, home]);
        Self::run(&mut shell, Stdio::null())
    }

    /// Runs a shell whose script reads its standard input.
    pub(crate) fn run(shell: &mut Command, log: Stdio) -> Result<Self, Trouble> {
        // Of its own group, so that Ctrl-C at the terminal does not reach it.
        shell.current_dir("/").process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        shell.spawn().map(Self).map_err(|error| format!("cannot run a shell: {error}"))
    }

    /// Returns the processes that the shell has started and has not ended.
    pub(crate) fn children(&self) -> Vec<String> {
        let all = processes::children_of(&self.0.id().to_string()).into_iter();
        all.filter(|process| processes::runs(process)).collect()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Nothing is left to do about a shell that cannot be waited for.
        let _ = self.0.wait();
    }
}
