//! oha: HTTP/1.1 and HTTP/2, its result as JSON.

use std::{path::Path, process::Command};

use serde_json::Value;

use super::{Push, Tally};
use crate::load::{Load, Protocol, STREAMS};

/// Whether oha can put on this load: it varies the address of a request and nothing else.
pub(super) fn can(load: &Load) -> bool {
    let first = load.first();
    load.requests
        .iter()
        .all(|request| request.method == first.method && request.headers == first.headers)
}

pub(super) fn command(program: &Path, load: &Load, push: Push) -> Command {
    let request = load.first();
    let mut command = Command::new(program);
    command
        .args(["--no-tui", "--output-format", "json", "--redirect", "0"])
        .args(["-z", &format!("{:.0}ms", push.seconds * 1000.0)])
        .args(["-c", &push.connections.to_string()])
        .args(["-m", request.method]);
    for (name, value) in &request.headers {
        command.args(["-H", &format!("{name}: {value}")]);
    }
    if !request.body.is_empty() {
        command.args(["-d", &request.body]);
    }
    if load.protocol == Protocol::Http2 {
        command.args(["--http2", "-p", &STREAMS.to_string()]);
    }
    if let (true, Ok(urls)) = (load.requests.len() > 1, load.urls(push.address)) {
        command.arg("--urls-from-file").arg(urls);
    } else {
        command.arg(format!("http://{}{}", push.address, request.path));
    }
    command
}

pub(super) fn parse(output: &str) -> Option<Tally> {
    let result: Value = serde_json::from_str(output).ok()?;
    let micros = |name: &str| Some(result["latencyPercentiles"][name].as_f64()? * 1e6);
    let mut tally = Tally {
        seconds: result["summary"]["total"].as_f64()?,
        p50: micros("p50")?,
        p99: micros("p99")?,
        ..Tally::default()
    };
    for (status, count) in result["statusCodeDistribution"].as_object()? {
        let count = count.as_u64()?;
        tally.requests += count;
        if status.as_str() >= "400" {
            tally.refused += count;
        }
    }
    for (error, count) in result["errorDistribution"].as_object()? {
        // What was under way when the time was over is no error.
        if !error.contains("deadline") {
            tally.broken += count.as_u64()?;
        }
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_json_is_read() {
        let output = r#"{"summary":{"total":2.0},"latencyPercentiles":{"p50":0.0005,"p99":0.002},
            "statusCodeDistribution":{"200":90,"401":7},
            "errorDistribution":{"aborted due to deadline":4,"connection closed":2}}"#;
        let tally = parse(output).unwrap();
        assert_eq!((tally.requests, tally.refused, tally.broken), (97, 7, 2));
        assert!((tally.p50 - 500.0).abs() < 0.1 && (tally.p99 - 2000.0).abs() < 0.1);
        assert_eq!(parse("oops"), None);
        assert_eq!(parse("{}"), None);
    }
}
