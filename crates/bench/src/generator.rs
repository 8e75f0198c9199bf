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

/// A program, and where it is.
#[derive(Clone, Copy, Debug)]
enum Tool<'t> {
    Wrk(&'t Path),
    Oha(&'t Path),
    H2load(&'t Path),
}

/// The generators of this machine. wrk and h2load take less of its processors than oha.
#[derive(Clone, Debug)]
pub(crate) struct Generators {
    wrk: Option<PathBuf>,
    h2load: Option<PathBuf>,
    oha: Option<PathBuf>,
}

impl Generators {
    /// Finds them, and installs oha below `tools` if `install` says so and it is not there.
    pub(crate) fn find(tools: &Path, install: bool) -> Outcome<Self> {
        let [wrk, h2load] = ["wrk", "h2load"].map(on_path);
        let mut oha = on_path("oha").or_else(|| existing(tools.join("bin/oha")));
        if oha.is_none() && install {
            oha = Some(install_oha(tools)?);
        }
        if wrk.is_none() && oha.is_none() {
            return Err(Failure::new(
                "no load generator is installed: install wrk (in Debian: apt install wrk), or run \
                 again with --install-generator, which builds oha below the target folder",
            ));
        }
        Ok(Self { wrk, h2load, oha })
    }

    /// Why this load cannot be put on, if so.
    pub(crate) fn obstacle(&self, load: &Load, connections: usize) -> Option<&'static str> {
        self.tool(load, connections).err()
    }

    fn tool(&self, load: &Load, connections: usize) -> Result<Tool<'_>, &'static str> {
        let oha = self.oha.as_deref().map(Tool::Oha);
        match load.protocol {
            Protocol::Http1 => match &self.wrk {
                Some(wrk) => Ok(Tool::Wrk(wrk)),
                None if !oha::can(load) => Err("oha cannot mix requests: install wrk"),
                None => oha.ok_or("HTTP/1.1 needs wrk or oha"),
            },
            Protocol::Http2 => match &self.h2load {
                Some(h2load) if connections <= MOST_OF_H2LOAD => Ok(Tool::H2load(h2load)),
                Some(_) => oha.ok_or(
                    "h2load lets connections that come up late run on for ever: \
                     --install-generator builds oha",
                ),
                None => oha.ok_or("HTTP/2 needs oha or h2load (in Debian: nghttp2-client)"),
            },
        }
    }

    /// Puts `load` on a server for one round.
    pub(crate) fn run(&self, load: &Load, push: Push) -> Outcome<Tally> {
        let tool = self.tool(load, push.connections).map_err(Failure::new)?;
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Generators, MOST_OF_H2LOAD, Tool};
    use crate::{
        load::{Load, Protocol},
        request::Request,
    };

    fn chosen(installed: &[&str], protocol: Protocol, connections: usize) -> &'static str {
        let path = |name: &str| installed.contains(&name).then(|| PathBuf::from(name));
        let generators = Generators { wrk: path("wrk"), h2load: path("h2load"), oha: path("oha") };
        let load = Load::new(protocol, vec![Request::create(String::new(), "key")], Path::new("/"))
            .unwrap();
        match generators.tool(&load, connections) {
            Ok(Tool::Wrk(_)) => "wrk",
            Ok(Tool::H2load(_)) => "h2load",
            Ok(Tool::Oha(_)) => "oha",
            Err(_) => "none",
        }
    }

    #[test]
    fn each_load_has_the_leanest_generator_that_can_put_it_on() {
        let all = ["wrk", "h2load", "oha"];
        let many = MOST_OF_H2LOAD + 1;
        assert_eq!(chosen(&all, Protocol::Http1, many), "wrk");
        assert_eq!(chosen(&all, Protocol::Http2, MOST_OF_H2LOAD), "h2load");
        assert_eq!(chosen(&all, Protocol::Http2, many), "oha");
        assert_eq!(chosen(&["wrk", "h2load"], Protocol::Http2, many), "none");
        assert_eq!(chosen(&["wrk"], Protocol::Http2, 1), "none");
        assert_eq!(chosen(&["oha"], Protocol::Http1, many), "oha");
        assert_eq!(chosen(&["oha"], Protocol::Http2, 1), "oha");
        assert_eq!(chosen(&["h2load"], Protocol::Http1, 1), "none");
    }
}
