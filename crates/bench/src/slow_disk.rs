//! Adding animals where each wait for the disk takes 1 ms: the service, which shares a commit among
//! all that wait, beside one commit for each request.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use petstore_bench::table::{Table, micros, whole};
use serde_json::json;

use crate::{
    bench::Bench,
    catalogue,
    check::spot_check,
    client::Client,
    console::note,
    contest::{Side, alternate},
    failure::{Context as _, Failure, Outcome},
    load::{Load, Protocol},
    report::Report,
    request::Request,
    rounds::{Contest, Rounds},
    server::{self, KEY, Server},
};

const SHIM: &str = include_str!("slow_disk/fsync_takes_1ms.c");
const CONNECTIONS: [usize; 3] = [1, 64, 256];

pub(crate) fn run(bench: &Bench) -> Outcome<Report> {
    let folder = bench.fresh_folder()?;
    let folder = folder.path();
    let shim = compile(folder)?;
    let store = catalogue::url(&folder.join("grouped.db"));
    let mut command = server::serve(&bench.binary, &store);
    let grouped = Server::start(command.env("LD_PRELOAD", &shim), &folder.join("grouped.log"))?;
    let single = folder.join("single.db");
    let mut command = server::own("one-commit-each", &[single.as_os_str()])?;
    let single = Server::start(command.env("LD_PRELOAD", &shim), &folder.join("single.log"))?;

    let requests = (0..100).map(|number| Request::create(catalogue::animal(number), KEY)).collect();
    let load = Load::new(Protocol::Http1, requests, folder)?;
    for server in [&single, &grouped] {
        spot_check(&mut Client::connect(server.address)?, &load.requests)?;
    }
    let mut report = empty_report(bench);
    for connections in CONNECTIONS {
        note(format_args!("slow disk, {connections} connections"));
        let sides = [&single, &grouped].map(|server| Side::new(server, &load));
        let contest = alternate(&bench.generators, sides, connections, bench.effort)?;
        add_row(&mut report, connections, &contest);
    }
    Ok(report)
}

/// Compiles the shim with the C compiler, which building SQLite needs anyway.
fn compile(folder: &Path) -> Outcome<PathBuf> {
    let source = folder.join("shim.c");
    let library = folder.join("shim.so");
    fs::write(&source, SHIM).cannot("write the shim")?;
    let mut command = Command::new("cc");
    command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source);
    let output = command.output().cannot("run cc, the C compiler")?;
    if output.status.success() {
        return Ok(library);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("the shim does not compile: {}", said.trim())))
}

fn empty_report(bench: &Bench) -> Report {
    let header =
        ["adding animals", "conns", "req/s", "p50", "p99", "one commit each", "p50", "ratio"];
    Report {
        name: "slow-disk",
        title: "Adding animals where each fsync takes 1 ms".to_owned(),
        table: Table::new(&header),
        rows: Vec::new(),
        notes: vec![format!(
            "fsync and fdatasync are replaced by a pause of 1 ms in both servers; the real disk plays \
             no part. The baseline is bare hyper with one SQLite transaction for each request, on the \
             same table. Medians of {} rounds of {} s each, in turns.",
            bench.effort.rounds, bench.effort.seconds
        )],
    }
}

fn add_row(report: &mut Report, connections: usize, contest: &Contest) {
    let Contest { baseline, subject } = contest;
    let p50 = |rounds: &Rounds| rounds.median(|round| round.tally.p50);
    let p99 = |rounds: &Rounds| rounds.median(|round| round.tally.p99);
    report.table.add(vec![
        "SQLite, commits shared".to_owned(),
        connections.to_string(),
        whole(subject.per_second()),
        micros(p50(subject)),
        micros(p99(subject)),
        whole(baseline.per_second()),
        micros(p50(baseline)),
        format!("{:.1}", contest.ratio()),
    ]);
    report.rows.push(json!({
        "connections": connections,
        "requests_per_second": subject.per_second(),
        "p50_us": p50(subject),
        "p99_us": p99(subject),
        "baseline_requests_per_second": baseline.per_second(),
        "baseline_p50_us": p50(baseline),
        "ratio": contest.ratio(),
    }));
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, Instant},
    };

    use super::compile;

    #[test]
    fn the_shim_makes_a_wait_for_the_disk_take_a_millisecond() {
        let folder = tempfile::tempdir().unwrap();
        let shim = compile(folder.path()).unwrap();
        // dd synchronises once at the end for `conv=fsync`, and 200 times for `oflag=sync` it does
        // not call fsync at all: so let it be one file a hundred times.
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sync -d \"$0\"; done";
        let file = folder.path().join("shim.c");
        let time = |preload: &str| {
            let began = Instant::now();
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&file).env("LD_PRELOAD", preload);
            assert!(command.status().unwrap().success());
            began.elapsed()
        };
        assert!(time(shim.to_str().unwrap()) >= Duration::from_millis(10));
    }
}
