//! Creates where each wait for the disk takes 1 ms: the service, which shares a commit among all
//! that wait, beside one commit for each.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    catalogue::url,
    check::spot_check,
    client::Client,
    console::note,
    generator::{Load, Target},
    number::{median, whole},
    report::Report,
    round::{Round, Side},
    server::{self, Server},
    setup::{Effort, Setup},
    workload::creates,
};

const LIBRARY: &str = include_str!("slow_disk.c");
const CONNECTIONS: usize = 256;
/// The ratio that must be reached.
const TARGET: u32 = 60;

/// Measures both in turns.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let folder = setup.new_folder()?;
    let folder = folder.path();
    let library = compile(folder)?;
    let mut command = server::petstore(&setup.binary);
    command.env("LD_PRELOAD", &library);
    let serve = server::serve(&mut command, &url(&folder.join("store.db")));
    let server = Server::start(serve, &folder.join("log"))?;
    let load = Load { requests: creates(), http2: false, folder: folder.to_owned() };
    spot_check(&mut Client::connect(server.address)?, &load.requests)?;
    let side = Side { server: &server, load: &load };
    note(format_args!("slow disk, {CONNECTIONS} connections"));
    let Effort { rounds, seconds, threads } = setup.effort;
    let target =
        Target { address: server.address, connections: CONNECTIONS, seconds, threads, start: 0 };
    let rounds = (0..=rounds).map(|_| {
        let single = one_commit_each(folder, &library, seconds)?;
        anyhow::Ok((single, side.measure(target)?))
    });
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    // The first round warmed up.
    let rows = vec![row(&rounds[1..])];
    let note = "In both, fsync and fdatasync are replaced by a pause of 1 ms. One commit each: \
                SQLite alone, without a server."
        .to_owned();
    let header = vec![
        "workload",
        "conns",
        "req/s",
        "p50 µs",
        "p99 µs",
        "one commit each/s",
        "ratio",
        "target",
    ];
    Ok(Report { name: "slow-disk", header, rows, note })
}

fn row(rounds: &[(f64, Round)]) -> Vec<String> {
    let figure = |figure: fn(&(f64, Round)) -> f64| median(rounds.iter().map(figure));
    vec![
        "adding an animal".to_owned(),
        CONNECTIONS.to_string(),
        whole(figure(|(_, round)| round.per_second())),
        whole(figure(|(_, round)| round.tally.p50)),
        whole(figure(|(_, round)| round.tally.p99)),
        whole(figure(|(single, _)| *single)),
        format!("{:.1}", figure(|(single, round)| round.per_second() / single)),
        TARGET.to_string(),
    ]
}

/// Rows a second, each in a commit of its own.
fn one_commit_each(folder: &Path, library: &Path, seconds: u32) -> Result<f64> {
    let mut command = server::baseline("one-commit-each")?;
    command.arg(folder.join("single.db")).arg(seconds.to_string());
    let output =
        command.env("LD_PRELOAD", library).output().context("cannot run one-commit-each")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    text.trim().parse().with_context(|| format!("one-commit-each failed: {}", said.trim()))
}

/// Compiles the library that is preloaded with the C compiler, which building SQLite needs anyway.
fn compile(folder: &Path) -> Result<PathBuf> {
    let [source, library] = ["slow_disk.c", "slow_disk.so"].map(|name| folder.join(name));
    fs::write(&source, LIBRARY).context("cannot write a file")?;
    let mut command = Command::new("cc");
    command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source);
    let output = command.output().context("cannot run cc, the C compiler")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cc failed: {}", said.trim());
    Ok(library)
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, Instant},
    };

    #[test]
    fn a_wait_for_the_disk_takes_at_least_a_millisecond() {
        let folder = tempfile::tempdir().unwrap();
        let library = super::compile(folder.path()).unwrap();
        let began = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sync -d \"$0\"; done"]);
        command.arg(folder.path().join("slow_disk.c")).env("LD_PRELOAD", library);
        assert!(command.status().unwrap().success());
        assert!(began.elapsed() >= Duration::from_millis(10));
    }
}
