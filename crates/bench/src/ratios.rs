//! Measures every workload on SQLite, beside bare hyper or another build of petstore.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

use crate::{
    catalogue::Seed,
    check::spot_check,
    cli::Options,
    client::Client,
    console::note,
    contest::Contest,
    generator::{Load, Target},
    number::{median, whole},
    report::Report,
    round::{Round, Side},
    server::{self, Server},
    setup::Setup,
    workload::{Source, WORKLOADS, Workload},
};

/// The workloads of the short form.
const SHORT: [&str; 8] =
    ["list", "uncached", "get", "create", "keyed", "unchanged", "gzip", "http2"];
/// The number of animals in the store of most workloads.
const SMALL: u64 = 10_000;

/// A service with a store of its own, and its load.
pub(crate) struct Subject {
    pub(crate) server: Server,
    pub(crate) load: Load,
    folder: TempDir,
}

/// Runs the chosen workloads, with one row for each number of connections.
pub(crate) fn run(setup: &Setup, options: &Options) -> Result<Report> {
    let mut rows = Vec::new();
    for workload in workloads(options)? {
        let seed = seed(setup, options, workload)?;
        let start = |binary: &Path| Subject::start(setup, binary, workload, &seed);
        let subject = start(&setup.binary)?;
        let older = setup.older.as_deref().map(start).transpose()?;
        let baseline;
        let baseline = if let Some(older) = &older {
            Side { server: &older.server, load: &older.load }
        } else {
            baseline = subject.start_bare_hyper()?;
            Side { server: &baseline, load: &subject.load }
        };
        let sides = [baseline, Side { server: &subject.server, load: &subject.load }];
        for connections in &setup.connections {
            note(format_args!("{}, {connections} connections", workload.name));
            let contest = Contest::run(sides, *connections, setup.effort)?;
            rows.push(row(workload, *connections, &contest));
        }
        spot_check(&mut Client::connect(subject.server.address)?, &subject.load.requests)?;
    }
    Ok(report(setup, large(options), rows))
}

fn large(options: &Options) -> u64 {
    if options.short { 20_000 } else { 200_000 }
}

/// Returns the initial store of a workload.
pub(crate) fn seed(setup: &Setup, options: &Options, workload: &Workload) -> Result<Seed> {
    let animals = if workload.large { large(options) } else { SMALL };
    Seed::new(&setup.binary, setup.folder(), animals)
}

/// Returns the workloads that the command line chooses.
pub(crate) fn workloads(options: &Options) -> Result<Vec<&'static Workload>> {
    match &options.workloads[..] {
        [] if options.short => SHORT.iter().map(|name| Workload::find(name)).collect(),
        [] => Ok(WORKLOADS.iter().collect()),
        names => names.iter().map(|name| Workload::find(name)).collect(),
    }
}

impl Subject {
    /// Starts a service on a copy of the seed, checks its responses, and adds the workload's idempotency records.
    pub(crate) fn start(
        setup: &Setup,
        binary: &Path,
        workload: &Workload,
        seed: &Seed,
    ) -> Result<Self> {
        let folder = setup.new_folder()?;
        let store = seed.copy_to(folder.path())?;
        let mut command = server::petstore(binary);
        let serve = server::serve(&mut command, &store, workload.settings);
        let server = Server::start(serve, &folder.path().join("log"))?;
        let mut client = Client::connect(server.address)?;
        let mut source = Source { client: &mut client, animals: seed.animals };
        let requests = workload.requests(&mut source)?;
        spot_check(&mut client, &requests)?;
        let load = Load { requests, http2: workload.http2, folder: folder.path().to_owned() };
        let subject = Self { server, load, folder };
        let mut records = 0;
        while records < workload.records {
            note(format_args!("{records} of {} idempotency records", workload.records));
            let side = Side { server: &subject.server, load: &subject.load };
            let target = Target::new(&subject.server, 64, setup.effort);
            records += side.measure(Target { seconds: 10, ..target })?.tally.requests;
        }
        Ok(subject)
    }

    /// Starts bare hyper with the first page of this service.
    fn start_bare_hyper(&self) -> Result<Server> {
        let mut command = server::baseline("bare-hyper")?;
        command.arg(self.server.address.to_string());
        command.args(self.load.http2.then_some("--http2"));
        Server::start(&mut command, &self.folder.path().join("bare-hyper.log"))
    }
}

fn row(workload: &Workload, connections: usize, contest: &Contest) -> Vec<String> {
    let Contest { baseline, subject } = contest;
    let figure = |rounds: &[Round], figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let [least, greatest] = contest.range();
    vec![
        workload.title.to_owned(),
        connections.to_string(),
        whole(figure(subject, Round::per_second)),
        whole(figure(subject, |round| round.tally.p50)),
        whole(figure(subject, |round| round.tally.p99)),
        format!("{:.1}", figure(subject, Round::cpu_per_request)),
        whole(figure(baseline, Round::per_second)),
        format!("{:.2}", contest.ratio()),
        format!("{least:.2}–{greatest:.2}"),
        format!("{:.2}", contest.cpu_ratio()),
    ]
}

fn report(setup: &Setup, large: u64, rows: Vec<Vec<String>>) -> Report {
    let [column, baseline] = match setup.older {
        Some(_) => ["before/s", "the first of two binaries"],
        None => ["hyper/s", "bare hyper, which answers with the service's own page of 20"],
    };
    let header = [
        ["workload", "conns", "req/s", "p50 µs", "p99 µs", "CPU µs"].as_slice(),
        &[column, "ratio", "range", "CPU ratio"],
    ];
    let note = format!(
        "The ratio compares petstore with {baseline}. Medians of {} rounds of {} s, in turns. SQLite \
         with {} animals, or {} for the workloads `uncached` and `get`.",
        setup.effort.rounds,
        setup.effort.seconds,
        whole(SMALL as f64),
        whole(large as f64),
    );
    Report { name: "ratios", header: header.concat(), rows, note, built: setup.built }
}
