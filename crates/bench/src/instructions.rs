//! Instructions of the hot paths, compared with the counts that the repository keeps.
//!
//! The release binary runs under callgrind with one worker thread and is asked over one connection.
//! What a request costs is the difference between two runs, one of them with more requests: so
//! starting, stopping and warming up cancel out.

mod kept;

use std::{ops::Range, path::Path};

use petstore_bench::{
    callgrind,
    table::{Table, whole},
};
use serde_json::json;

use self::kept::Kept;
use crate::{
    bench::Bench,
    catalogue::Seed,
    check::verify,
    client::Client,
    console::note,
    failure::{Failure, Outcome},
    report::Report,
    request::{Expect, Request},
    server::{self, Server},
    workload::{Ground, Workload, unchanged},
};

/// The hot paths, by the workloads that take them.
const PATHS: [&str; 6] = ["list", "uncached", "get", "create", "unchanged", "unknown-key"];
const ANIMALS: u64 = 10_000;
/// Requests of each path before those that count.
const WARM_UP: usize = 25;
/// Requests that count.
const COUNTED: usize = 1000;

/// Counts; the report, and whether what was counted is what is kept.
pub(crate) fn run(bench: &Bench, accept: bool) -> Outcome<(Report, Outcome<()>)> {
    let valgrind = callgrind::find().ok_or_else(|| {
        Failure::new("valgrind is not installed, which counts instructions (in Debian: valgrind)")
    })?;
    let seed = Seed::make(&bench.binary, bench.folder(), ANIMALS)?;
    let requests = Requests::prepare(bench, &seed)?;
    note("counting instructions: start and warm-up");
    let count = |path| requests.count(bench, &valgrind, &seed, path);
    let base = count(None)?;
    let mut counted = Vec::new();
    for (at, path) in PATHS.iter().enumerate() {
        note(format_args!("counting instructions: {path}"));
        counted.push((*path, count(Some(at))?.saturating_sub(base) / COUNTED as u64));
    }
    let kept = Kept::read()?;
    if accept {
        kept.with(&counted).write()?;
    }
    let kept = if accept { Kept::read()? } else { kept };
    Ok((report(&counted, &kept), kept.compare(&counted)))
}

/// The requests of every path.
struct Requests {
    paths: Vec<Vec<Request>>,
}

impl Requests {
    /// Prepares them on a service that nobody counts: walks along pages take long under callgrind.
    fn prepare(bench: &Bench, seed: &Seed) -> Outcome<Self> {
        let stranger = bench.stranger()?;
        let folder = bench.fresh_folder()?;
        let store = seed.copy_to(folder.path())?.url();
        let server = Server::petstore(&bench.binary, &store, &folder.path().join("log"))?;
        let mut client = Client::connect(server.address)?;
        let mut ground = Ground { client: &mut client, animals: ANIMALS, stranger: &stranger };
        let paths = PATHS.iter().map(|name| {
            let workload = Workload::named(name);
            let workload = workload.ok_or_else(|| Failure::new("a workload has another name"))?;
            Ok(workload.prepare(&mut ground, folder.path())?.requests)
        });
        Ok(Self { paths: paths.collect::<Outcome<_>>()? })
    }

    /// Instructions of a whole run, with the counted requests of one path or of none.
    fn count(
        &self,
        bench: &Bench,
        valgrind: &Path,
        seed: &Seed,
        path: Option<usize>,
    ) -> Outcome<u64> {
        let folder = bench.fresh_folder()?;
        let counts = folder.path().join("counts");
        let store = seed.copy_to(folder.path())?.url();
        let mut command = callgrind::command(valgrind, &bench.binary, &counts);
        server::serve_on(&mut command, &store);
        // The number of worker threads would otherwise be that of the machine's processors.
        command.env("TOKIO_WORKER_THREADS", "1");
        let server = Server::start(&mut command, &folder.path().join("log"))?;
        let mut client = Client::connect(server.address)?;
        for requests in &self.paths {
            ask(&mut client, requests, 0..WARM_UP)?;
        }
        if let Some(path) = path {
            ask(&mut client, &self.paths[path], WARM_UP..WARM_UP + COUNTED)?;
        }
        drop(client);
        server.stop()?;
        let total = callgrind::total(&counts);
        total.ok_or_else(|| Failure::new("callgrind wrote no count of instructions"))
    }
}

/// Asks requests of a path, by their numbers; the list of them begins anew at its end.
fn ask(client: &mut Client, requests: &[Request], numbers: Range<usize>) -> Outcome<()> {
    let renewed;
    let requests = if requests.iter().any(|request| request.expect == Expect::Unchanged) {
        // Animals were added since the tag was handed out.
        renewed = [unchanged(client)?];
        &renewed
    } else {
        requests
    };
    for number in numbers {
        let request = &requests[number % requests.len()];
        let answer = client.ask(request)?;
        verify(request.expect, &answer).map_err(|fault| {
            Failure::new(format!("WRONG ANSWER to {} {}: {fault}", request.method, request.path))
        })?;
    }
    Ok(())
}

fn report(counted: &[(&str, u64)], kept: &Kept) -> Report {
    let mut table = Table::new(&["path", "instructions a request", "kept", "change"]);
    let mut rows = Vec::new();
    for (path, count) in counted {
        let before = kept.of(path);
        let title = Workload::named(path).map_or(*path, |workload| workload.title);
        let change = kept::change(*count, before).map(|change| format!("{change:+.1} %"));
        table.add(vec![
            title.to_owned(),
            whole(*count as f64),
            before.map_or_else(|| "-".to_owned(), |before| whole(before as f64)),
            change.unwrap_or_else(|| "-".to_owned()),
        ]);
        rows.push(json!({ "path": path, "instructions": count, "kept": before }));
    }
    Report {
        name: "instructions",
        title: "Instructions of the hot paths".to_owned(),
        table,
        rows,
        notes: vec![
            "Of the whole server in user space, as callgrind counts them: what the kernel does is \
             not in it."
                .to_owned(),
        ],
    }
}
