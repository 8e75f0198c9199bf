//! Ends a server, a pooler or a node when the process that started it ends, even if that process is killed.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{
    binaries::{as_server_user, folder},
    processes,
};

/// Waits until standard input is closed, then stops the server and removes its folder. If the test process is killed,
/// the kernel closes standard input. Continues a halted server first, because a halted server cannot stop.
const SCRIPT: &str = r#"
cat >/dev/null
kill -CONT "$(head -n 1 "$1/data/postmaster.pid")"
"$0/pg_ctl" -D "$1/data" -m immediate -w stop
rm -rf "$1"
"#;

/// A shell whose script waits for the end of this process or of this value.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Runs a shell that, at the end, stops the server in `home` and removes the folder.
    pub(crate) fn of(home: &Path) -> Result<Self, String> {
        let mut shell = as_server_user(Path::new("/bin/sh"));
        shell.args(["-c", SCRIPT]).args([&folder()?, home]);
        Self::run(&mut shell, Stdio::null())
    }

    /// Runs a shell whose script ends once its standard input is closed.
    pub(crate) fn run(shell: &mut Command, log: Stdio) -> Result<Self, String> {
        // The shell has its own process group, so that Ctrl-C at the terminal does not reach it.
        shell.current_dir("/").process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        shell.spawn().map(Self).map_err(|error| format!("cannot run a shell: {error}"))
    }

    /// Returns the running children of the shell.
    pub(crate) fn children(&self) -> Vec<String> {
        let all = processes::children_of(&self.0.id().to_string()).into_iter();
        all.filter(|process| processes::runs(process)).collect()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // A failed wait needs no cleanup.
        let _ = self.0.wait();
    }
}
