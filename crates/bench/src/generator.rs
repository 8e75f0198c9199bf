//! The input of a load generator, and its results of one round.

use std::{net::SocketAddr, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};

use crate::{request::Request, server::Server, setup::Effort};

/// A generator that has not ended by then, in seconds, never will.
const TIMEOUT: &str = "120";

/// Requests that are sent in turn.
#[derive(Debug)]
pub(crate) struct Load {
    /// At least one.
    pub(crate) requests: Vec<Request>,
    /// `true` if the first one alone is sent, over HTTP/2.
    pub(crate) http2: bool,
    /// Where a generator may keep files.
    pub(crate) folder: PathBuf,
}

/// How much load is put on which server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) seconds: u32,
    pub(crate) threads: usize,
    /// Where in the list of requests to begin; another number each round.
    pub(crate) start: usize,
}

impl Target {
    pub(crate) fn new(server: &Server, connections: usize, effort: Effort) -> Self {
        let Effort { seconds, threads, .. } = effort;
        Self { address: server.address, connections, seconds, threads, start: 0 }
    }
}

/// The results that a load generator reports for one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// Half of the answers came within this time, in microseconds.
    pub(crate) p50: f64,
    /// 99 of 100 answers came within this time, in microseconds.
    pub(crate) p99: f64,
    /// Answers with a status of 400 or above.
    pub(crate) refused: u64,
    /// Requests that got no answer: the connection failed, or the time was over.
    pub(crate) broken: u64,
}

impl Tally {
    /// Fails if a round had a refusal, a request without an answer, or no answer at all.
    pub(crate) fn verify(&self) -> Result<()> {
        let Self { requests, refused, broken, .. } = *self;
        ensure!(
            broken == 0 && refused == 0 && requests > 0,
            "WRONG ANSWERS under load: of {requests} requests, {refused} were answered with 400 or \
             above and {broken} not at all"
        );
        Ok(())
    }
}

/// Runs a load generator to its end; its standard output.
pub(crate) fn output(generator: &Command) -> Result<String> {
    let program = generator.get_program();
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", TIMEOUT]).arg(program).args(generator.get_args());
    let output = command.output().context("cannot run timeout")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let program = program.display();
    ensure!(output.status.success(), "{program} failed: {} {}", complaint.trim(), text.trim());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn an_unexpected_answer_fails_the_round() {
        let verify = |requests, refused, broken| {
            Tally { requests, refused, broken, ..Tally::default() }.verify().is_ok()
        };
        assert!(verify(5, 0, 0));
        for (requests, refused, broken) in [(5, 1, 0), (5, 0, 1), (0, 0, 0)] {
            assert!(!verify(requests, refused, broken));
        }
    }
}
