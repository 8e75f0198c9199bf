//! wrk: HTTP/1.1, with a script that hands out prepared requests.

use std::{path::Path, process::Command};

use super::{Push, Tally};
use crate::{failure::Outcome, load::Load};

/// Begins the line that the script prints at the end.
const RESULT: &str = "petstore-bench";

/// Reads the prepared requests once for each thread, and sends them in turn. Prints the result in
/// whole microseconds: what wrk prints itself is rounded for people.
pub(crate) const SCRIPT: &str = r#"
local threads = 0
function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

local requests, at = {}, 0
function init(args)
   local file = assert(io.open(args[1], "rb"))
   while true do
      local length = file:read("*n")
      if not length then break end
      file:read(1)
      requests[#requests + 1] = file:read(length)
   end
   file:close()
   at = (tonumber(args[2]) + number * math.floor(#requests / 3)) % #requests
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format("petstore-bench %.0f %.0f %.0f %.0f %.0f %.0f\n",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      e.status, e.connect + e.read + e.write + e.timeout))
end
"#;

pub(super) fn command(program: &Path, load: &Load, push: Push) -> Outcome<Command> {
    let threads = push.threads.min(push.connections);
    let mut command = Command::new(program);
    command
        .args(["--threads", &threads.to_string()])
        .args(["--connections", &push.connections.to_string()])
        .args(["--duration", &format!("{:.0}s", push.seconds.max(1.0))])
        .args(["--timeout", "60s", "--latency"])
        .arg("--script")
        .arg(load.script()?)
        .arg(format!("http://{}/", push.address))
        .arg("--")
        .arg(load.prepared()?)
        .arg(push.seed.to_string());
    Ok(command)
}

pub(super) fn parse(output: &str) -> Option<Tally> {
    let line = output.lines().find_map(|line| line.strip_prefix(RESULT))?;
    let numbers: Vec<f64> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [requests, micros, p50, p99, refused, broken] = numbers[..] else { return None };
    let seconds = micros / 1e6;
    let [requests, refused, broken] = [requests, refused, broken].map(count);
    Some(Tally { requests, seconds, p50, p99, refused, broken })
}

/// A number that a script printed without a fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
fn count(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::{super::Tally, parse};

    #[test]
    fn the_line_of_the_script_is_read() {
        let output = "Running 1s test @ http://127.0.0.1:1/\n  Latency 1ms\n\
             petstore-bench 120000 1000500 410 2750 3 1\n";
        let expected = Tally {
            requests: 120_000,
            seconds: 1.0005,
            p50: 410.0,
            p99: 2750.0,
            refused: 3,
            broken: 1,
        };
        assert_eq!(parse(output), Some(expected));
    }

    #[test]
    fn an_output_without_it_is_no_result() {
        assert_eq!(parse("Requests/sec: 5\n"), None);
        assert_eq!(parse("petstore-bench 1 2 3\n"), None);
        assert_eq!(parse("petstore-bench 1 2 3 x 5 6\n"), None);
    }
}
