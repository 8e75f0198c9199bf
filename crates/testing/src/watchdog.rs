//! Ends a server when the process that started it ends, for whatever reason.

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
kill -CONT "$(head -n 1 "$2/data/postmaster.pid")"
"$1/pg_ctl" -D "$2/data" -m immediate -w stop
rm -rf "$2"
"#;

/// A process that waits for this one to end, then stops the server in a folder and removes it.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    pub(crate) fn of(home: &Path) -> Result<Self, Trouble> {
        let mut shell = as_server_user(Path::new("/bin/sh"));
        shell.args(["-c", SCRIPT, "watchdog"]).arg(folder()?).arg(home).current_dir("/");
        // Of its own group, so that Ctrl-C at the terminal does not reach it.
        shell.process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
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
