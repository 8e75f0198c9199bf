//! h2load: load over HTTP/2 with prior knowledge, always the same request.

use std::{fs, process::Command};

use anyhow::{Context as _, Result};

use crate::generator::{Load, Tally, Target, output};

/// Requests at a time on each connection.
const STREAMS: usize = 10;
/// Requests of a round, for each second. Their number is fixed and not their time: with many
/// connections, h2load does not stop those that come up late at the end of a given time.
const REQUESTS: u64 = 100_000;

/// One round.
pub(crate) fn run(load: &Load, target: Target) -> Result<Tally> {
    let request = load.requests.first().context("a load without requests")?;
    let requests = REQUESTS * u64::from(target.seconds);
    let log = load.folder.join("latencies");
    fs::write(&log, "").context("cannot empty the log of h2load")?;
    let mut command = Command::new("h2load");
    command
        .args(["--requests", &requests.to_string()])
        .args(["--clients", &target.connections.to_string()])
        .args(["--threads", &target.threads.min(target.connections).to_string()])
        .args(["--max-concurrent-streams", &STREAMS.to_string()])
        .arg(format!("--log-file={}", log.display()));
    for (name, value) in &request.headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    command.arg(format!("http://{}{}", target.address, request.path));
    output(&command)?;
    let text = fs::read_to_string(&log).context("cannot read the log of h2load")?;
    parse(&text, requests).context("cannot understand the log of h2load")
}

/// Reads a line for each request: when it began, in microseconds; the status of the answer; how
/// long it took, in microseconds.
fn parse(log: &str, sent: u64) -> Option<Tally> {
    let mut tally = Tally { broken: sent, ..Tally::default() };
    let (mut begin, mut end) = (u64::MAX, 0);
    let mut times = Vec::new();
    for line in log.lines() {
        let mut fields = line.split('\t');
        let start: u64 = fields.next()?.parse().ok()?;
        // Without an answer it is -1.
        let Ok(status) = fields.next()?.parse::<u16>() else { continue };
        let time: u32 = fields.next()?.parse().ok()?;
        tally.requests += 1;
        tally.broken = tally.broken.saturating_sub(1);
        tally.refused += u64::from(status >= 400);
        begin = begin.min(start);
        end = end.max(start + u64::from(time));
        times.push(time);
    }
    times.sort_unstable();
    let percentile = |percent: usize| times.get(times.len() * percent / 100).copied();
    tally.p50 = percentile(50)?.into();
    tally.p99 = percentile(99)?.into();
    tally.seconds = end.saturating_sub(begin) as f64 / 1e6;
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_log_is_read() {
        let log = "1000000\t200\t30\n1500000\t401\t500000\n1000000\t200\t20\n1\t-1\t0\n";
        let tally = parse(log, 5).unwrap();
        assert_eq!((tally.requests, tally.refused, tally.broken), (3, 1, 2));
        assert!((tally.seconds, tally.p50, tally.p99) == (1.0, 30.0, 500_000.0));
        assert_eq!(parse("", 5), None);
        assert_eq!(parse("x\t200\t1\n", 5), None);
    }
}
