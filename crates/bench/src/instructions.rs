//! Instructions of the hot paths, compared with the counts in the repository.
//!
//! The release binary runs under callgrind with one worker thread and is asked over one connection.
//! What a request costs is the difference between two runs, one of them with more requests: so
//! starting, stopping and warming up cancel out.

mod counts;

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, Result};

use self::counts::{Counts, growth};
use crate::{
    catalogue::Seed,
    check::checked,
    client::Client,
    console::note,
    number::whole,
    report::Report,
    request::{Expect, Request},
    server::{self, Server},
    setup::Setup,
    workload::{Source, Workload, unchanged},
};

/// The hot paths, by the workloads that take them.
const PATHS: [&str; 5] = ["list", "uncached", "get", "create", "unchanged"];
const ANIMALS: u64 = 10_000;
/// Requests of each path before those that count.
const WARM_UP: usize = 25;
/// Requests that count.
const COUNTED: usize = 1000;

/// Counts. Returns the report, and whether the counts are within the tolerance; `accept` makes them
/// the repository's.
pub(crate) fn run(setup: &Setup, accept: bool) -> Result<(Report, Result<()>)> {
    let seed = Seed::new(&setup.binary, setup.folder(), ANIMALS)?;
    let paths = requests(setup, &seed)?;
    note("counting instructions: start and warm-up");
    let base = count(setup, &seed, &paths, None)?;
    let mut counts = BTreeMap::new();
    for (name, path) in PATHS.into_iter().zip(&paths) {
        note(format_args!("counting instructions: {name}"));
        let total = count(setup, &seed, &paths, Some(path))?;
        counts.insert(name.to_owned(), total.saturating_sub(base) / COUNTED as u64);
    }
    let counts = Counts(counts);
    let repository = Counts::read()?;
    let compared = if accept { counts.write() } else { counts.compare(&repository) };
    Ok((report(&counts, &repository)?, compared))
}

/// The requests of every path. They come from a service that does not run under callgrind, because
/// following thousands of links would take long there.
fn requests(setup: &Setup, seed: &Seed) -> Result<Vec<Vec<Request>>> {
    let folder = setup.new_folder()?;
    let mut command = server::petstore(&setup.binary);
    let serve = server::serve(&mut command, &seed.copy_to(folder.path())?);
    let server = Server::start(serve, &folder.path().join("log"))?;
    let mut client = Client::connect(server.address)?;
    let mut source = Source { client: &mut client, animals: ANIMALS };
    PATHS.iter().map(|name| Workload::find(name)?.requests(&mut source)).collect()
}

/// Instructions of a whole run: all paths are warmed up, then one is counted, or none.
fn count(
    setup: &Setup,
    seed: &Seed,
    paths: &[Vec<Request>],
    counted: Option<&Vec<Request>>,
) -> Result<u64> {
    let folder = setup.new_folder()?;
    let output = folder.path().join("callgrind.out");
    let mut command = server::petstore("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--fair-sched=yes"]);
    command.arg(format!("--callgrind-out-file={}", output.display())).arg(&setup.binary);
    // By default there is a worker thread for each processor of the machine.
    command.env("TOKIO_WORKER_THREADS", "1");
    let serve = server::serve(&mut command, &seed.copy_to(folder.path())?);
    let server = Server::start(serve, &folder.path().join("log"))?;
    let mut client = Client::connect(server.address)?;
    for requests in paths {
        ask(&mut client, requests, 0, WARM_UP)?;
    }
    if let Some(requests) = counted {
        ask(&mut client, requests, WARM_UP, COUNTED)?;
    }
    drop(client);
    server.stop()?;
    total(&output).context("callgrind wrote no count of instructions")
}

/// Asks `count` requests of a path from the number `start` on; the path begins anew at its end.
fn ask(client: &mut Client, requests: &[Request], start: usize, count: usize) -> Result<()> {
    let mut requests = requests.to_vec();
    if requests.iter().any(|request| request.expect == Expect::Unchanged) {
        // Animals were added since the entity tag was handed out.
        requests = vec![unchanged(client)?];
    }
    let mut numbers = requests.iter().cycle().skip(start).take(count);
    numbers.try_for_each(|request| checked(client, request).map(drop))
}

/// The sum at the end of a file that callgrind wrote.
fn total(output: &Path) -> Option<u64> {
    let text = fs::read_to_string(output).ok()?;
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

fn report(counts: &Counts, repository: &Counts) -> Result<Report> {
    let row = |(path, count): (&String, &u64)| {
        let known = repository.0.get(path);
        Ok(vec![
            Workload::find(path)?.title.to_owned(),
            whole(*count as f64),
            known.map_or_else(String::new, |known| whole(*known as f64)),
            known.map_or_else(String::new, |known| format!("{:+.1} %", growth(*count, *known))),
        ])
    };
    let rows = counts.0.iter().map(row).collect::<Result<_>>()?;
    let header = vec!["path", "instructions a request", "in the repository", "change"];
    let note = "Of the whole server in user space: the kernel's are not counted.".to_owned();
    Ok(Report { name: "instructions", header, rows, note })
}
