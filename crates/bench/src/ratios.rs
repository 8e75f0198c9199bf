//! Every workload on SQLite, beside bare hyper or beside another build of petstore.

use std::{ffi::OsStr, fs, path::Path};

use petstore_bench::table::{Table, mebibytes, micros, whole};
use serde_json::json;

use crate::{
    bench::Bench,
    catalogue::Seed,
    chart::{self, Line},
    check::spot_check,
    client::Client,
    console::note,
    contest::{Side, alternate},
    failure::{Context as _, Outcome},
    load::{Load, Protocol},
    reference::Constant,
    report::Report,
    rounds::{Contest, Rounds},
    server::{self, Server},
    workload::{Ground, Workload, hot},
};

/// Marks a row in which the generator was the limit.
const MARK: &str = "†";

/// Animals in the small and in the large catalogue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) small: u64,
    pub(crate) large: u64,
}

/// A service with a store of its own, and the load for it.
struct Prepared {
    server: Server,
    load: Load,
    folder: tempfile::TempDir,
}

/// Draws the ratios over the numbers of connections.
pub(crate) fn draw(report: &Report, folder: &Path) -> Outcome<()> {
    let mut lines: Vec<Line> = Vec::new();
    for row in &report.rows {
        let name = row["workload"].as_str().unwrap_or_default();
        let number = |field: &str| row[field].as_f64().unwrap_or(1.0);
        let point = (number("connections"), number("ratio") * 100.0);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name: name.to_owned(), points: vec![point] }),
        }
    }
    let title = "Requests per second, in percent of the baseline";
    chart::draw(&folder.join("ratios.svg"), title, ["connections", "%"], &lines)
}

/// Runs the workloads; one row for each, on each number of connections.
pub(crate) fn run(bench: &Bench, workloads: &[&Workload], sizes: Sizes) -> Outcome<Report> {
    let stranger = bench.stranger()?;
    let small = Seed::make(&bench.binary, bench.folder(), sizes.small)?;
    let needs_large = workloads.iter().any(|workload| workload.large);
    let large =
        needs_large.then(|| Seed::make(&bench.binary, bench.folder(), sizes.large)).transpose()?;
    let mut report = empty_report(bench, sizes);
    for workload in workloads {
        let seed = if workload.large { large.as_ref().unwrap_or(&small) } else { &small };
        let subject = prepare(bench, &bench.binary, workload, seed, &stranger)?;
        let older = bench.older.as_deref();
        let older =
            older.map(|binary| prepare(bench, binary, workload, seed, &stranger)).transpose()?;
        let reference;
        let baseline = if let Some(older) = &older {
            Side::new(&older.server, &older.load)
        } else {
            reference = start_reference(&subject, workload.protocol)?;
            Side::constant(&reference, &subject.load)
        };
        for connections in &bench.connections {
            if let Some(obstacle) = bench.generators.obstacle(&subject.load, *connections) {
                let what = format!("{}, {connections} connections", workload.name);
                note(format_args!("*** SKIPPED: {what}: {obstacle} ***"));
                report.notes.push(format!("Not measured: {what}. {obstacle}."));
                continue;
            }
            note(format_args!("{}, {connections} connections", workload.name));
            let subject = Side::new(&subject.server, &subject.load);
            let contest =
                alternate(&bench.generators, [baseline, subject], *connections, bench.effort)?;
            add_row(&mut report, workload, *connections, &contest);
        }
        spot_check(&mut Client::connect(subject.server.address)?, &subject.load.requests)?;
    }
    Ok(report)
}

fn empty_report(bench: &Bench, Sizes { small, large }: Sizes) -> Report {
    let [baseline, about] = if bench.older.is_some() {
        ["before", "The ratio is that of the second binary to the first."]
    } else {
        ["hyper", "The ratio is to bare hyper answering the service's own page of 20, always."]
    };
    let header = ["workload", "conns", "req/s", "p50", "p99", "CPU/req", "RSS", "peak"];
    let baseline = ["req/s", "p50"].map(|figure| format!("{baseline} {figure}"));
    let baseline = baseline.iter().map(String::as_str);
    let rest = ["CPU/req", "ratio", "range", "CPU ratio"];
    let header: Vec<_> = header.into_iter().chain(baseline).chain(rest).collect();
    let [small, large] = [small, large].map(|animals| whole(animals as f64));
    let catalogue = format!(
        "{about} Medians of {} rounds of {} s each, in turns. SQLite with {small} animals, and with \
         {large} for the pages asked for rarely.",
        bench.effort.rounds, bench.effort.seconds
    );
    let mark = format!("{MARK}: the load generator was the limit, the server had time left.");
    Report {
        name: "ratios",
        title: "Workloads on SQLite".to_owned(),
        table: Table::new(&header),
        rows: Vec::new(),
        notes: vec![catalogue, mark],
    }
}

/// Starts a service of its own for the workload, and looks at what it answers.
fn prepare(
    bench: &Bench,
    binary: &Path,
    workload: &Workload,
    seed: &Seed,
    stranger: &str,
) -> Outcome<Prepared> {
    let folder = bench.fresh_folder()?;
    let store = seed.copy_to(folder.path())?.url();
    let server = Server::petstore(binary, &store, &folder.path().join("log"))?;
    let mut client = Client::connect(server.address)?;
    spot_check(&mut client, &[hot()])?;
    let mut ground = Ground { client: &mut client, animals: seed.animals, stranger };
    let load = workload.prepare(&mut ground, folder.path())?;
    spot_check(&mut client, &load.requests)?;
    Ok(Prepared { server, load, folder })
}

/// Bare hyper with the page of 20 that the service gave.
fn start_reference(subject: &Prepared, protocol: Protocol) -> Outcome<Server> {
    let page = Client::connect(subject.server.address)?.ask(&hot())?;
    let file = subject.folder.path().join("answer.json");
    let constant =
        serde_json::to_string(&Constant::of(&page)).cannot("write the constant answer")?;
    fs::write(&file, constant).cannot("write the constant answer")?;
    let mut arguments = vec![file.as_os_str()];
    if protocol == Protocol::Http2 {
        arguments.push(OsStr::new("--http2"));
    }
    let mut command = server::own("reference", &arguments)?;
    Server::start(&mut command, &subject.folder.path().join("reference.log"))
}

fn add_row(report: &mut Report, workload: &Workload, connections: usize, contest: &Contest) {
    let Contest { baseline, subject } = contest;
    let ratio = contest.ratio();
    let (least, most) = contest.range();
    let bound = [baseline, subject].map(Rounds::generator_bound);
    let mark = if bound.contains(&true) { MARK } else { "" };
    let p50 = |rounds: &Rounds| rounds.median(|round| round.tally.p50);
    let p99 = |rounds: &Rounds| rounds.median(|round| round.tally.p99);
    report.table.add(vec![
        workload.title.to_owned(),
        connections.to_string(),
        whole(subject.per_second()),
        micros(p50(subject)),
        micros(p99(subject)),
        format!("{:.1} µs", subject.cpu_per_request()),
        mebibytes(subject.memory.resident),
        mebibytes(subject.memory.peak),
        whole(baseline.per_second()),
        micros(p50(baseline)),
        format!("{:.1} µs", baseline.cpu_per_request()),
        format!("{ratio:.2}{mark}"),
        format!("{least:.2} to {most:.2}"),
        format!("{:.2}", contest.cpu_ratio()),
    ]);
    report.rows.push(json!({
        "workload": workload.name,
        "connections": connections,
        "requests_per_second": subject.per_second(),
        "p50_us": p50(subject),
        "p99_us": p99(subject),
        "cpu_us": subject.cpu_per_request(),
        "resident_kib": subject.memory.resident,
        "peak_kib": subject.memory.peak,
        "baseline_requests_per_second": baseline.per_second(),
        "baseline_p50_us": p50(baseline),
        "baseline_p99_us": p99(baseline),
        "baseline_cpu_us": baseline.cpu_per_request(),
        "ratio": ratio,
        "ratio_range": [least, most],
        "cpu_ratio": contest.cpu_ratio(),
        "generator_bound": { "baseline": bound[0], "subject": bound[1] },
    }));
}
