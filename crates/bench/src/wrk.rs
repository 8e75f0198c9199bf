//! Runs wrk: load over HTTP/1.1. A script sends prepared requests in turn.

use std::{fmt::Write as _, fs, process::Command};

use anyhow::{Context as _, Result};

use crate::generator::{Load, Tally, Target, output};

const SCRIPT: &str = include_str!("wrk.lua");
/// The start of the result line of the script.
const RESULT: &str = "petstore-bench ";

/// Runs one round.
pub(crate) fn run(load: &Load, target: Target) -> Result<Tally> {
    let [script, requests] = ["wrk.lua", "requests"].map(|name| load.folder.join(name));
    if !requests.exists() {
        fs::write(&script, SCRIPT).context("cannot write the script of wrk")?;
        fs::write(&requests, prepared(load)).context("cannot write the requests for wrk")?;
    }
    let mut command = Command::new("wrk");
    command
        .args(["--threads", &target.threads.min(target.connections).to_string()])
        .args(["--connections", &target.connections.to_string()])
        .args(["--duration", &format!("{}s", target.seconds)])
        .args(["--timeout", "60s", "--latency"])
        .arg("--script")
        .arg(script)
        .arg(format!("http://{}/", target.address))
        .arg("--")
        .arg(requests)
        .arg(target.start.to_string());
    let text = output(&command)?;
    parse(&text).with_context(|| format!("cannot read the result of wrk: {text}"))
}

/// Returns every request as text, each after a line with its length.
fn prepared(load: &Load) -> String {
    load.requests.iter().fold(String::new(), |mut text, request| {
        let request = request.to_http1();
        let _ = writeln!(text, "{}\n{request}", request.len());
        text
    })
}

fn parse(output: &str) -> Option<Tally> {
    let line = output.lines().find_map(|line| line.strip_prefix(RESULT))?;
    let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>().ok()?;
    let [requests, micros, p50, p99, refused, broken] = numbers[..] else { return None };
    let [requests, refused, broken] = [requests, refused, broken].map(u64::from);
    let [seconds, p50, p99] = [f64::from(micros) / 1e6, p50.into(), p99.into()];
    Some(Tally { requests, seconds, p50, p99, refused, broken })
}
