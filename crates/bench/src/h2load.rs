//! Runs h2load: load over HTTP/2, with one request at a time on each connection.

use std::{fs, process::Command};

use anyhow::{Context as _, Result};

use crate::{
    generator::{Load, Tally, Target, output},
    number::median,
};

/// Runs one round.
pub(crate) fn run(load: &Load, target: Target) -> Result<Tally> {
    ask(load, target, &["--duration", &target.seconds.to_string()])
}

/// Runs h2load, which repeats the first request of `load` and sends no other. `amount` holds the flags for the duration
/// or the number of requests.
pub(crate) fn ask(load: &Load, target: Target, amount: &[&str]) -> Result<Tally> {
    let log = load.folder.join("h2load.log");
    // h2load appends to an existing log.
    let _ = fs::remove_file(&log);
    let request = load.requests.first().context("there is no request")?;
    let mut command = Command::new("h2load");
    command.args(amount).args(["--max-concurrent-streams", "1"]);
    command.args(["--clients", &target.connections.to_string()]);
    command.args(["--threads", &target.threads.min(target.connections).to_string()]);
    for (name, value) in &request.headers {
        command.arg("--header").arg(format!("{name}: {value}"));
    }
    command.arg("--log-file").arg(&log).arg(format!("http://{}{}", target.address, request.path));
    output(&command)?;
    let text = fs::read_to_string(&log).context("h2load wrote no log")?;
    parse(&text).context("cannot read the log of h2load")
}

/// Parses the log. Each line is one request: start, status and duration, with times in microseconds.
fn parse(log: &str) -> Option<Tally> {
    let mut tally = Tally::default();
    let (mut begin, mut end, mut durations) = (i64::MAX, 0, Vec::new());
    for line in log.lines() {
        let fields: Vec<i64> = line.split('\t').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [start, status, duration] = fields[..] else { return None };
        tally.requests += 1;
        tally.refused += u64::from(status >= 400);
        tally.broken += u64::from(status < 200);
        (begin, end) = (begin.min(start), end.max(start + duration));
        durations.push(duration as f64);
    }
    tally.seconds = (end - begin) as f64 / 1e6;
    durations.sort_by(f64::total_cmp);
    tally.p99 = *durations.get(durations.len() * 99 / 100)?;
    tally.p50 = median(durations);
    Some(tally)
}
