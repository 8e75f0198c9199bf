//! The service on PostgreSQL, beside pgbench doing the same to the same server.

mod pgbench;
mod scratch;

use petstore_bench::table::{Table, micros, whole};
use serde_json::json;

use self::{
    pgbench::{Pgbench, Script},
    scratch::Scratch,
};
use crate::{
    bench::Bench,
    catalogue,
    check::spot_check,
    client::Client,
    console::note,
    contest::{Side, measure},
    failure::{Failure, Outcome},
    generator::Push,
    load::Load,
    median::median,
    report::Report,
    rounds::Round,
    server::Server,
    workload::{Ground, Workload, hot},
};

/// What the service does beside what pgbench does.
struct Pair {
    workload: &'static str,
    title: &'static str,
    script: Script,
    connections: &'static [usize],
}

const PAIRS: [Pair; 4] = [
    Pair {
        workload: "get",
        title: "one animal / point query",
        script: Script::Point,
        connections: &[16, 64],
    },
    Pair {
        workload: "uncached",
        title: "filtered list of 20 / the same query",
        script: Script::Page,
        connections: &[16, 64],
    },
    Pair {
        workload: "create",
        title: "adding an animal / one insert each",
        script: Script::Insert,
        connections: &[64],
    },
    Pair {
        workload: "create",
        title: "adding an animal / one insert and mark each",
        script: Script::InsertAndMark,
        connections: &[64],
    },
];

/// pgbench, and a database for it and for the service.
#[derive(Debug)]
pub(crate) struct Yardstick {
    pgbench: Pgbench,
    scratch: Scratch,
}

impl Yardstick {
    /// On the server of `url`, or on a throw-away server where that is empty.
    pub(crate) fn prepare(url: &str) -> Outcome<Self> {
        let pgbench = Pgbench::find()?;
        note("preparing PostgreSQL");
        Ok(Self { pgbench, scratch: Scratch::make(url)? })
    }
}

/// Runs each pair of workload and script.
pub(crate) fn run(bench: &Bench, yardstick: &Yardstick, animals: u64) -> Outcome<Report> {
    let Yardstick { pgbench, scratch } = yardstick;
    catalogue::fill(&bench.binary, &scratch.url, animals)?;
    scratch.sql(pgbench::TABLE)?;
    scratch.sql("VACUUM ANALYZE")?;
    let stranger = bench.stranger()?;
    let folder = bench.fresh_folder()?;
    let server = Server::petstore(&bench.binary, &scratch.url, &folder.path().join("log"))?;
    let mut report = empty_report(bench, animals);
    for pair in &PAIRS {
        let files = bench.fresh_folder()?;
        let mut client = Client::connect(server.address)?;
        spot_check(&mut client, &[hot()])?;
        let workload = Workload::named(pair.workload);
        let workload = workload.ok_or_else(|| Failure::new("a workload has another name"))?;
        let mut ground = Ground { client: &mut client, animals, stranger: &stranger };
        let load = workload.prepare(&mut ground, files.path())?;
        spot_check(&mut Client::connect(server.address)?, &load.requests)?;
        let script = pair.script.write_to(files.path(), animals)?;
        for connections in pair.connections {
            note(format_args!("PostgreSQL, {}, {connections} connections", pair.title));
            let run = |seconds| pgbench.run(&script, &scratch.url, *connections, seconds);
            let rounds = alternate(bench, &server, &load, *connections, run)?;
            add_row(&mut report, pair.title, *connections, &rounds);
        }
    }
    Ok(report)
}

/// Rounds of pgbench, in transactions per second, each beside one of the service.
fn alternate(
    bench: &Bench,
    server: &Server,
    load: &Load,
    connections: usize,
    pgbench: impl Fn(f64) -> Outcome<f64>,
) -> Outcome<Vec<(f64, Round)>> {
    let effort = bench.effort;
    let push = Push {
        address: server.address,
        connections,
        seconds: effort.seconds,
        threads: effort.threads,
        seed: 0,
    };
    let mut rounds = Vec::new();
    for number in 0..=effort.rounds {
        let transactions = pgbench(effort.seconds)?;
        let push = Push { seed: number * 7919, ..push };
        let round = measure(&bench.generators, Side::new(server, load), push)?;
        // The first round warms up.
        if number > 0 {
            rounds.push((transactions, round));
        }
    }
    Ok(rounds)
}

fn empty_report(bench: &Bench, animals: u64) -> Report {
    let header =
        ["petstore / pgbench", "conns", "req/s", "p50", "CPU/req", "pgbench tx/s", "ratio"];
    Report {
        name: "postgres",
        title: "PostgreSQL, beside pgbench".to_owned(),
        table: Table::new(&header),
        rows: Vec::new(),
        notes: vec![format!(
            "The ratio is requests of the service to transactions of `pgbench -M prepared` on as many \
             connections. Medians of {} rounds of {} s each, in turns, on {} animals. Commits wait for \
             the disk on both sides. A mark is the row that tells the catalogue's state; the service \
             writes it once for a group of additions.",
            bench.effort.rounds,
            bench.effort.seconds,
            whole(animals as f64)
        )],
    }
}

fn add_row(report: &mut Report, title: &str, connections: usize, rounds: &[(f64, Round)]) {
    let of = |value: fn(&(f64, Round)) -> f64| median(rounds.iter().map(value).collect());
    let per_second = of(|(_, round)| round.per_second());
    let p50 = of(|(_, round)| round.tally.p50);
    let cpu = of(|(_, round)| round.server_cpu * 1e6 / round.tally.requests as f64);
    let transactions = of(|(transactions, _)| *transactions);
    let ratio = of(|(transactions, round)| round.per_second() / transactions);
    report.table.add(vec![
        title.to_owned(),
        connections.to_string(),
        whole(per_second),
        micros(p50),
        format!("{cpu:.1} µs"),
        whole(transactions),
        format!("{ratio:.2}"),
    ]);
    report.rows.push(json!({
        "pair": title,
        "connections": connections,
        "requests_per_second": per_second,
        "p50_us": p50,
        "cpu_us": cpu,
        "pgbench_transactions_per_second": transactions,
        "ratio": ratio,
    }));
}
