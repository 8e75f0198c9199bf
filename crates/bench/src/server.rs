//! A server under measurement: the service or one that it is compared with.

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Context as _, Failure, Outcome};

/// What every server prints before its address, once it accepts connections.
const LISTENS: &str = " listens on http://";
/// The API key of the service under measurement.
pub(crate) const KEY: &str = "the-key-of-the-benchmark";

/// A running server. It ends with the value.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Kept open: a server that cannot write its log would not be as it is in production.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts the service on a store.
    pub(crate) fn petstore(binary: &Path, store: &str, log: &Path) -> Outcome<Self> {
        Self::start(&mut serve(binary, store), log)
    }

    /// Starts a server that prints where it listens. Its stderr goes to the file `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Outcome<Self> {
        let file = File::create(log).cannot(format_args!("create {}", log.display()))?;
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = spawned.cannot(format_args!("start {name}"))?;
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("a server has no stdout"))?;
        let mut stdout = BufReader::new(stdout);
        let Some(address) = address(&mut stdout) else {
            let _ = child.kill();
            let _ = child.wait();
            let said = std::fs::read_to_string(log).unwrap_or_default();
            return Err(Failure::new(format!("{name} does not listen: {}", said.trim())));
        };
        Ok(Self { child, address, _stdout: stdout })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) fn stop(mut self) -> Outcome<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).cannot("stop a server")?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_mins(1) {
            if self.child.try_wait().cannot("wait for a server")?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(Failure::new("a server does not stop within 60 s after SIGTERM"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command of petstore that no variable of this environment changes.
pub(crate) fn petstore(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    forget_settings(&mut command);
    command
}

/// Hides the variables of this environment that would change the service.
fn forget_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PETSTORE_") {
            command.env_remove(name);
        }
    }
}

/// `petstore serve` with default settings, except for the address, the store and a key.
pub(crate) fn serve(binary: &Path, store: &str) -> Command {
    let mut command = petstore(binary);
    serve_on(&mut command, store);
    command
}

/// The arguments and the key for `petstore serve`.
pub(crate) fn serve_on(command: &mut Command, store: &str) {
    forget_settings(command);
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", store]);
    command.env("PETSTORE_API_KEY", KEY);
}

/// Another face of this very program: one of its hidden servers.
pub(crate) fn own(subcommand: &str, arguments: &[&OsStr]) -> Outcome<Command> {
    let program: PathBuf = std::env::current_exe().cannot("find this program")?;
    let mut command = Command::new(program);
    command.arg(subcommand).args(arguments);
    Ok(command)
}

fn address(stdout: &mut BufReader<ChildStdout>) -> Option<SocketAddr> {
    let mut line = String::new();
    while stdout.read_line(&mut line).ok()? > 0 {
        if let Some((_, address)) = line.split_once(LISTENS) {
            return address.trim().parse().ok();
        }
        line.clear();
    }
    None
}
