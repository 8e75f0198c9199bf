//! The input of a load generator, and its results for one round.

use std::{net::SocketAddr, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};

use crate::{request::Request, server::Server, setup::Effort};

/// The time limit for a load generator, in seconds.
const TIMEOUT: &str = "120";

/// Requests that are sent in turn, again and again.
#[derive(Debug)]
pub(crate) struct Load {
    /// At least one request.
    pub(crate) requests: Vec<Request>,
    /// `true` to send only the first request, over HTTP/2.
    pub(crate) http2: bool,
    /// The folder for files of a generator.
    pub(crate) folder: PathBuf,
}

/// The server and the size of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) seconds: u32,
    pub(crate) threads: usize,
    /// The index of the first request. A contest begins each round with another request.
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
    /// The number of responses; with h2load, of all requests.
    pub(crate) requests: u64,
    /// The duration, in seconds.
    pub(crate) seconds: f64,
    /// The median latency, in microseconds.
    pub(crate) p50: f64,
    /// The 99th percentile of the latency, in microseconds.
    pub(crate) p99: f64,
    /// The number of responses with a status of 400 or above.
    pub(crate) refused: u64,
    /// The number of requests without a response, after a failed connection or a timeout.
    pub(crate) broken: u64,
}

impl Tally {
    /// Fails if a request was refused or got no response, or if there was no request.
    pub(crate) fn verify(&self) -> Result<()> {
        let Self { requests, refused, broken, .. } = *self;
        ensure!(
            broken == 0 && refused == 0 && requests > 0,
            "WRONG ANSWERS under load: of {requests} requests, {refused} were answered with a status \
             of 400 or above and {broken} not at all"
        );
        Ok(())
    }
}

/// Runs a load generator or callgrind's control program, and returns its stdout.
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
    fn an_unexpected_response_fails_the_round() {
        let verify = |requests, refused, broken| {
            Tally { requests, refused, broken, ..Tally::default() }.verify().is_ok()
        };
        assert!(verify(5, 0, 0));
        for (requests, refused, broken) in [(5, 1, 0), (5, 0, 1), (0, 0, 0)] {
            assert!(!verify(requests, refused, broken));
        }
    }
}
