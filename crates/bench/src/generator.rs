//! Programs that put load on a server.

mod h2load;
mod oha;
mod wrk;

use std::{
    env,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    console::note,
    failure::{Context as _, Failure, Outcome},
    load::{Load, Protocol},
};

pub(crate) use wrk::SCRIPT as WRK_SCRIPT;

/// With more connections, some come up after h2load has told all others to stop.
const MOST_OF_H2LOAD: usize = 64;
/// A generator that has not ended by then, in seconds, never will.
const PATIENCE: &str = "120";

/// What a generator saw in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// The median of the times until an answer, in microseconds.
    pub(crate) p50: f64,
    /// The time within which 99 of 100 answers came, in microseconds.
    pub(crate) p99: f64,
    /// Answers with a status of 400 or above.
    pub(crate) refused: u64,
    /// Requests that got no answer: the connection failed, or the time was over.
    pub(crate) broken: u64,
}

/// How hard to push.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    pub(crate) threads: usize,
    /// Where in the list of requests to begin; another number each round.
    pub(crate) seed: usize,
}

/// One program that is installed.
#[derive(Clone, Debug)]
enum Tool {
    Wrk(PathBuf),
    Oha(PathBuf),
    H2load(PathBuf),
}

/// The generators of this machine: one for each protocol.
#[derive(Clone, Debug)]
pub(crate) struct Generators {
    http1: Tool,
    http2: Option<Tool>,
}

impl Generators {
    /// Finds them, or installs oha below `tools` if `install` says so.
    pub(crate) fn find(tools: &Path, install: bool) -> Outcome<Self> {
        let wrk = on_path("wrk").map(Tool::Wrk);
        let h2load = on_path("h2load").map(Tool::H2load);
        let mut oha = on_path("oha").or_else(|| existing(tools.join("bin/oha"))).map(Tool::Oha);
        if oha.is_none() && install && (wrk.is_none() || h2load.is_none()) {
            oha = Some(Tool::Oha(install_oha(tools)?));
        }
        let http1 = wrk.or_else(|| oha.clone()).ok_or_else(|| {
            Failure::new(
                "no load generator is installed: install wrk (in Debian: apt install wrk), or run \
                 again with --install-generator, which builds oha below the target folder",
            )
        })?;
        Ok(Self { http1, http2: oha.or(h2load) })
    }

    /// Why this load cannot be put on, if so.
    pub(crate) fn obstacle(&self, load: &Load, connections: usize) -> Option<&'static str> {
        match (load.protocol, &self.http1, &self.http2) {
            (Protocol::Http2, _, Some(Tool::H2load(_))) if connections > MOST_OF_H2LOAD => {
                Some("h2load lets connections that come up late run on for ever: install oha")
            }
            (Protocol::Http2, _, None) => {
                Some("HTTP/2 needs oha or h2load (in Debian: nghttp2-client)")
            }
            (Protocol::Http1, Tool::Oha(_), _) if !oha::can(load) => {
                Some("oha cannot mix requests: install wrk")
            }
            _ => None,
        }
    }

    /// Puts `load` on a server for one round.
    pub(crate) fn run(&self, load: &Load, push: Push) -> Outcome<Tally> {
        let tool = match load.protocol {
            Protocol::Http1 => Some(&self.http1),
            Protocol::Http2 => self.http2.as_ref(),
        };
        let tool = tool.ok_or_else(|| Failure::new("no generator speaks this protocol"))?;
        let output = match tool {
            Tool::Wrk(program) => run(&wrk::command(program, load, push)?)?,
            Tool::Oha(program) => run(&oha::command(program, load, push))?,
            Tool::H2load(program) => run(&h2load::command(program, load, push)?)?,
        };
        let tally = match tool {
            Tool::Wrk(_) => wrk::parse(&output),
            Tool::Oha(_) => oha::parse(&output),
            Tool::H2load(_) => h2load::parse(&output, &load.latencies()),
        };
        tally.ok_or_else(|| Failure::new(format!("cannot read what a generator said: {output}")))
    }
}

/// Finds a program in the folders of `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).find_map(|folder| existing(folder.join(name)))
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}

fn install_oha(tools: &Path) -> Outcome<PathBuf> {
    note(format_args!("installing oha below {}", tools.display()));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done =
        Command::new(cargo).args(["install", "oha", "--locked", "--root"]).arg(tools).status();
    let done = done.cannot("run cargo install oha")?;
    if done.success() {
        Ok(tools.join("bin/oha"))
    } else {
        Err(Failure::new("cargo install oha failed"))
    }
}

/// Runs a generator to its end; its standard output.
fn run(command: &Command) -> Outcome<String> {
    let mut bounded = Command::new("timeout");
    bounded.args(["--signal=KILL", PATIENCE]).arg(command.get_program()).args(command.get_args());
    let output = bounded.output().cannot("run a load generator")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("the load generator failed: {} {text}", complaint.trim())))
}
