//! h2load: HTTP/2 with prior knowledge, always the same request.

use std::{fs, path::Path, process::Command};

use super::{Push, Tally};
use crate::{
    failure::{Context as _, Outcome},
    load::{Load, STREAMS},
};

pub(super) fn command(program: &Path, load: &Load, push: Push) -> Outcome<Command> {
    let request = load.first();
    let log = load.latencies();
    if log.exists() {
        fs::remove_file(&log).cannot("remove the last round's latencies")?;
    }
    let mut command = Command::new(program);
    command
        .args(["--duration", &format!("{:.0}", push.seconds.max(1.0))])
        .args(["--clients", &push.connections.to_string()])
        .args(["--threads", &push.threads.min(push.connections).to_string()])
        .args(["--max-concurrent-streams", &STREAMS.to_string()])
        .arg(format!("--log-file={}", log.display()));
    for (name, value) in &request.headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    command.arg(format!("http://{}{}", push.address, request.path));
    Ok(command)
}

/// Reads the summary, and the file with a line for each request: when it began, its status, how
/// long it took in microseconds.
pub(super) fn parse(output: &str, log: &Path) -> Option<Tally> {
    let tally = summary(output)?;
    let text = fs::read_to_string(log).ok()?;
    let mut times: Vec<u32> =
        text.lines().filter_map(|line| line.split('\t').nth(2)?.parse().ok()).collect();
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().map(f64::from);
    Some(Tally { p50: at(50)?, p99: at(99)?, ..tally })
}

fn summary(output: &str) -> Option<Tally> {
    let line = |start: &str| output.lines().find_map(|line| line.strip_prefix(start));
    let seconds: f64 = line("finished in ")?.split_once("s,")?.0.parse().ok()?;
    let requests = line("requests: ")?;
    let status = line("status codes: ")?;
    let number = |text: &str, what: &str| -> Option<u64> {
        let part = text.split(", ").find_map(|part| part.strip_suffix(what))?;
        part.trim().parse().ok()
    };
    let refused = number(status, "4xx")? + number(status, "5xx")?;
    // `failed` counts what was refused, too.
    let broken = number(requests, "failed")?.saturating_sub(refused) + number(requests, "timeout")?;
    let requests = number(requests, "done")?;
    Some(Tally { requests, seconds, refused, broken, ..Tally::default() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::parse;

    const OUTPUT: &str = "\nfinished in 1.00s, 3.00 req/s, 1.88MB/s\n\
        requests: 5 total, 5 started, 4 done, 3 succeeded, 2 failed, 1 errored, 0 timeout\n\
        status codes: 3 2xx, 0 3xx, 1 4xx, 0 5xx\n";

    #[test]
    fn the_summary_and_the_times_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "1\t200\t30\n2\t200\t10\n3\t200\t20\n").unwrap();
        let tally = parse(OUTPUT, &log).unwrap();
        assert_eq!((tally.requests, tally.refused, tally.broken), (4, 1, 1));
        assert!((tally.seconds, tally.p50, tally.p99) == (1.0, 20.0, 30.0));
        assert_eq!(parse("", &log), None);
    }
}
