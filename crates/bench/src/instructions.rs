//! Instructions of the hot paths, compared with the counts in the repository.
//!
//! The release binary runs under callgrind with one worker thread, and is warmed up. The compared counts exclude
//! SHA-256, because callgrind computes it in software. Real processors have instructions for SHA-256.

mod callgrind;
mod counts;

use anyhow::{Context as _, Result};

use self::{
    callgrind::{Callgrind, Cost},
    counts::{Counts, growth},
};
use crate::{
    catalogue::Seed,
    check::checked_at_once,
    client::Client,
    console::note,
    generator::{Load, Target},
    h2load,
    number::whole,
    report::Report,
    request::{Expect, Request},
    server::{self, Server},
    setup::Setup,
    workload::{Source, Workload, unchanged},
};

/// The hot paths: name, workload, and number of simultaneous requests.
const PATHS: [(&str, &str, usize); 12] = [
    ("list", "list", 1),
    ("uncached", "uncached", 1),
    ("get", "get", 1),
    ("hits", "hits", 1),
    ("create", "create", 1),
    ("create-64", "create", 64),
    ("keyed", "keyed", 1),
    ("keyed-64", "keyed", 64),
    ("unchanged", "unchanged", 1),
    ("gzip", "gzip", 1),
    ("metrics", "metrics", 1),
    ("http2", "http2", 1),
];
const ANIMALS: u64 = 10_000;
/// The number of requests of each path that warm the service up.
const WARM_UP: usize = 128;
/// The number of counted requests of each path.
const COUNTED: usize = 1024;

/// Counts all paths. Returns the report, and an error if a count exceeds the tolerance. `accept` writes the counts to
/// the repository.
pub(crate) fn run(setup: &Setup, accept: bool) -> Result<(Report, Result<()>)> {
    let seed = Seed::new(&setup.binary, setup.folder(), ANIMALS)?;
    let mut servers: Vec<(&[&str], Server, Callgrind)> = Vec::new();
    let (mut costs, mut counts) = (Vec::new(), Counts::default());
    for (name, workload, at_once) in PATHS {
        note(format_args!("counting instructions: {name}"));
        let workload = Workload::find(workload)?;
        let settings = workload.settings;
        if !servers.iter().any(|(known, ..)| *known == settings) {
            let (server, callgrind) = start(setup, &seed, settings)?;
            servers.push((settings, server, callgrind));
        }
        let found = servers.iter_mut().find(|(known, ..)| *known == settings);
        let (_, server, callgrind) = found.context("a server was just started")?;
        let requests = requests(setup, &seed, workload)?;
        let cost = count(server, callgrind, workload, requests, at_once)?;
        counts.0.insert(name.to_owned(), cost.without_sha());
        costs.push((workload.title, at_once, name, cost));
    }
    if accept {
        counts.write()?;
    }
    let repository = Counts::read()?;
    let compared = counts.compare(&repository);
    Ok((report(setup, &costs, &repository), compared))
}

/// Starts a service under callgrind.
fn start(setup: &Setup, seed: &Seed, settings: &[&str]) -> Result<(Server, Callgrind)> {
    let folder = setup.new_folder()?;
    let mut command = server::petstore("valgrind");
    let output = callgrind::arguments(&mut command, folder.path());
    command.arg(&setup.binary);
    // The default is one worker thread for each processor.
    command.env("TOKIO_WORKER_THREADS", "1");
    let serve = server::serve(&mut command, &seed.copy_to(folder.path())?, settings);
    let server = Server::start(serve, &folder.path().join("log"))?;
    let callgrind = Callgrind::new(server.pid(), output, folder);
    Ok((server, callgrind))
}

/// Returns the requests of a workload. Gets them from a service outside callgrind, because following thousands of links
/// under callgrind would take long.
fn requests(setup: &Setup, seed: &Seed, workload: &Workload) -> Result<Vec<Request>> {
    let folder = setup.new_folder()?;
    let mut command = server::petstore(&setup.binary);
    let serve = server::serve(&mut command, &seed.copy_to(folder.path())?, &[]);
    let server = Server::start(serve, &folder.path().join("log"))?;
    let mut client = Client::connect(server.address)?;
    workload.requests(&mut Source { client: &mut client, animals: ANIMALS })
}

/// Warms the service up, and returns the cost of a request.
fn count(
    server: &Server,
    callgrind: &mut Callgrind,
    workload: &Workload,
    requests: Vec<Request>,
    at_once: usize,
) -> Result<Cost> {
    if workload.http2 {
        let load = Load { requests, http2: true, folder: callgrind.folder().to_owned() };
        let (address, connections, threads) = (server.address, 1, 1);
        let target = Target { address, connections, threads, seconds: 0, start: 0 };
        let ask = |count: usize| {
            let tally = h2load::ask(&load, target, &["--requests", &count.to_string()])?;
            tally.verify()
        };
        ask(WARM_UP)?;
        callgrind.begin()?;
        ask(COUNTED)?;
        return callgrind.end(COUNTED);
    }
    let mut client = Client::with_connections(server.address, at_once)?;
    let requests = if requests.iter().any(|request| request.expect == Expect::Unchanged) {
        // The `ETag` in `requests` is of another server.
        vec![unchanged(&mut client)?]
    } else {
        requests
    };
    ask(&mut client, &requests, 0, WARM_UP, at_once)?;
    callgrind.begin()?;
    ask(&mut client, &requests, WARM_UP, COUNTED, at_once)?;
    callgrind.end(COUNTED)
}

/// Sends `count` requests, from the index `start` on. After the last of `requests`, the first follows.
fn ask(
    client: &mut Client,
    requests: &[Request],
    start: usize,
    count: usize,
    at_once: usize,
) -> Result<()> {
    let requests: Vec<_> = requests.iter().cycle().skip(start).take(count).collect();
    requests.chunks(at_once).try_for_each(|group| checked_at_once(client, group).map(drop))
}

fn report(
    setup: &Setup,
    costs: &[(&'static str, usize, &str, Cost)],
    repository: &Counts,
) -> Report {
    let row = |(title, at_once, name, cost): &(&str, usize, &str, Cost)| {
        let known = repository.0.get(*name);
        vec![
            if *at_once > 1 { format!("{title}, {at_once} at once") } else { (*title).to_owned() },
            whole(cost.total as f64),
            whole(cost.without_sha() as f64),
            known.map_or_else(String::new, |known| whole(*known as f64)),
            known.map_or_else(String::new, |known| {
                format!("{:+.1} %", growth(cost.without_sha(), *known))
            }),
        ]
    };
    let header =
        vec!["path", "instructions a request", "without SHA-256", "in the repository", "change"];
    let note = "Instructions of the whole server in user space, without the kernel. Real processors compute SHA-256 in \
                hardware, callgrind in software. The change compares the counts without SHA-256."
        .to_owned();
    let rows = costs.iter().map(row).collect();
    Report { name: "instructions", header, rows, note, built: setup.built }
}
