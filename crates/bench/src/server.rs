//! A measured server: the service, or a baseline.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::request::KEY;

/// The text before the address in the line that every server prints once it accepts connections.
const LISTENS: &str = " listens on http://";

/// A running server. Dropping the value kills it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// The address that the server listens on.
    pub(crate) address: SocketAddr,
    /// Kept open, so that the server can write to its stdout.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server that prints its address. Its stderr goes to the file `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let name = command.get_program().display().to_string();
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = spawned.with_context(|| format!("cannot start {name}"))?;
        let mut stdout = BufReader::new(child.stdout.take().context("a server has no stdout")?);
        let Some(address) = address(&mut stdout) else {
            let _ = child.kill();
            let _ = child.wait();
            let log = fs::read_to_string(log).unwrap_or_default();
            bail!("{name} does not listen: {}", log.trim());
        };
        Ok(Self { child, address, _stdout: stdout })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that runs `program` without `PETSTORE_` variables: petstore, or a program that runs petstore.
pub(crate) fn petstore(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PETSTORE_") {
            command.env_remove(name);
        }
    }
    command
}

/// Adds the arguments of `petstore serve`: an address, the store, an API key and `settings`.
pub(crate) fn serve<'a>(
    command: &'a mut Command,
    store: &str,
    settings: &[&str],
) -> &'a mut Command {
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .args(settings)
        .env("PETSTORE_API_KEY", KEY)
}

/// Returns a command that runs a baseline, which is part of this program.
pub(crate) fn baseline(name: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg(name);
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
