//! How the service does with catalogues of very different sizes.

use std::{path::Path, time::Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    bench::Bench,
    catalogue::{Seed, animal},
    chart::{self, Line},
    check::spot_check,
    client::Client,
    console::note,
    contest::{Round, Side, measure},
    failure::Outcome,
    generator::Push,
    load::{Load, Protocol},
    median::median,
    procfs,
    random::Random,
    report::Report,
    request::{Expect, Request},
    server::{KEY, Server},
    walk,
    workload::hot,
};
use petstore_bench::table::{Table, mebibytes, micros, whole};

/// Connections of the load: enough to keep the machine busy, few enough for honest times.
const CONNECTIONS: usize = 16;

/// What is asked of each catalogue.
const QUESTIONS: [&str; 8] = [
    "first page",
    "page in the middle",
    "page near the end",
    "first page of a status",
    "page of a status in the middle",
    "page of a status near the end",
    "one animal",
    "adding an animal",
];

/// A service with a catalogue of one size, and what was measured on it.
struct Size {
    animals: u64,
    server: Server,
    seed: Seed,
    places: Places,
    start_ms: f64,
    /// For each question: requests per second, median time in microseconds.
    answers: Vec<(f64, f64)>,
    /// The file and the log; they are removed with the value.
    _folder: TempDir,
}

/// Asks every question of all catalogues in turn, so that what disturbs the machine disturbs all.
pub(crate) fn run(bench: &Bench, sizes: &[u64], charts: Option<&Path>) -> Outcome<Report> {
    let grown = sizes.iter().map(|animals| grow(bench, *animals));
    let mut grown = grown.collect::<Outcome<Vec<_>>>()?;
    for (at, question) in QUESTIONS.iter().enumerate() {
        note(question);
        let answers = ask(bench, &grown, at)?;
        for (size, answer) in grown.iter_mut().zip(answers) {
            size.answers.push(answer);
        }
    }
    if let Some(folder) = charts {
        draw(&grown, folder)?;
    }
    report(bench, &grown)
}

fn grow(bench: &Bench, animals: u64) -> Outcome<Size> {
    let folder = bench.fresh_folder()?;
    let seed = Seed::make(&bench.binary, folder.path(), animals)?;
    let began = Instant::now();
    let server = Server::petstore(&bench.binary, &seed.url(), &folder.path().join("log"))?;
    spot_check(&mut Client::connect(server.address)?, &[hot()])?;
    let start_ms = began.elapsed().as_secs_f64() * 1e3;
    note(format_args!("walking along the pages of {animals} animals"));
    let mut client = Client::connect(server.address)?;
    let places = Places {
        all: places(&mut client, animals, "")?,
        sold: places(&mut client, animals, "&status=sold")?,
        animals,
    };
    Ok(Size { animals, server, seed, places, start_ms, answers: Vec::new(), _folder: folder })
}

/// Where pages begin, in the order of the catalogue.
struct Places {
    all: Vec<String>,
    sold: Vec<String>,
    animals: u64,
}

/// Pages of 20 from many places of the catalogue on, found by walking along it in other steps.
fn places(client: &mut Client, animals: u64, filter: &str) -> Outcome<Vec<String>> {
    let step = usize::try_from(animals / 1000).unwrap_or(usize::MAX).clamp(1, 100);
    let found = walk::pages(client, step, filter)?;
    Ok(found.iter().map(|path| walk::with_limit(path, step, 20)).collect())
}

impl Places {
    /// Requests for the question of a number.
    fn requests(&self, question: usize) -> Vec<Request> {
        let first = |path: &str| vec![Request::get(path, KEY, Expect::Page(20))];
        match question {
            0 => first("/v1/pets?limit=20"),
            1 => part(&self.all, 45),
            2 => part(&self.all, 89),
            3 => first("/v1/pets?limit=20&status=sold"),
            4 => part(&self.sold, 45),
            5 => part(&self.sold, 89),
            6 => {
                let step = usize::try_from(1 + self.animals / 10_000).unwrap_or(usize::MAX);
                let ids = (1..=self.animals).step_by(step);
                let mut requests: Vec<_> = ids
                    .map(|id| Request::get(format!("/v1/pets/{id}"), KEY, Expect::Pet))
                    .collect();
                Random::new().shuffle(&mut requests);
                requests
            }
            _ => (0..100).map(|number| Request::create(animal(number), KEY)).collect(),
        }
    }
}

/// A tenth of the places, from so many percent of them on, in no order.
fn part(places: &[String], percent: usize) -> Vec<Request> {
    let places = places.iter().skip(places.len() * percent / 100).take(places.len() / 10 + 1);
    let page = |path: &String| Request::get(path, KEY, Expect::Page(20));
    let mut requests: Vec<_> = places.map(page).collect();
    Random::new().shuffle(&mut requests);
    requests
}

/// For each catalogue, requests per second and the median time until an answer, in microseconds:
/// medians of the rounds.
fn ask(bench: &Bench, sizes: &[Size], question: usize) -> Outcome<Vec<(f64, f64)>> {
    let folders = sizes.iter().map(|_| bench.fresh_folder()).collect::<Outcome<Vec<_>>>()?;
    let pairs = sizes.iter().zip(&folders);
    let loads = pairs
        .map(|(size, folder)| {
            let requests = size.places.requests(question);
            spot_check(&mut Client::connect(size.server.address)?, &requests)?;
            Load::new(Protocol::Http1, requests, folder.path())
        })
        .collect::<Outcome<Vec<_>>>()?;
    let mut rounds = vec![Vec::new(); sizes.len()];
    // The first round of each warms caches up, and does not count.
    for number in 0..=bench.effort.rounds {
        for ((size, load), rounds) in sizes.iter().zip(&loads).zip(&mut rounds) {
            let push = Push {
                address: size.server.address,
                connections: CONNECTIONS,
                seconds: bench.effort.seconds,
                threads: bench.effort.threads,
                seed: number * 7919,
            };
            let round = measure(&bench.generators, Side::new(&size.server, load), push)?;
            if number > 0 {
                rounds.push(round);
            }
        }
    }
    let middle =
        |rounds: &Vec<Round>, of: fn(&Round) -> f64| median(rounds.iter().map(of).collect());
    let answer =
        |rounds| (middle(rounds, Round::per_second), middle(rounds, |round| round.tally.p50));
    Ok(rounds.iter().map(answer).collect())
}

fn report(bench: &Bench, sizes: &[Size]) -> Outcome<Report> {
    let memory = sizes.iter().map(|size| Ok(procfs::memory(size.server.pid())?.resident));
    let memory = memory.collect::<Outcome<Vec<_>>>()?;
    let names: Vec<_> =
        sizes.iter().map(|size| format!("{} animals", whole(size.animals as f64))).collect();
    let header = ["of a catalogue of"].into_iter().chain(names.iter().map(String::as_str));
    let mut table = Table::new(&header.collect::<Vec<_>>());
    let mut add = |name: &str, cell: &dyn Fn(&Size) -> String| {
        table.add([name.to_owned()].into_iter().chain(sizes.iter().map(cell)).collect());
    };
    for (at, question) in QUESTIONS.iter().enumerate() {
        add(question, &|size| {
            let (per_second, p50) = size.answers[at];
            format!("{}/s, {}", whole(per_second), micros(p50))
        });
    }
    add("start to first answer", &|size| micros(size.start_ms * 1e3));
    add("file", &|size| mebibytes(size.seed.size() / 1024));
    let memory_row = memory.iter().map(|resident| mebibytes(*resident));
    table.add(["RSS after all this".to_owned()].into_iter().chain(memory_row).collect());
    Ok(Report {
        name: "growth",
        title: "Growing catalogues".to_owned(),
        table,
        rows: sizes.iter().zip(memory).map(|(size, resident)| row(size, resident)).collect(),
        notes: vec![format!(
            "Requests per second, and the median time of one, on {CONNECTIONS} connections; SQLite; \
             medians of {} rounds of {} s. A page in the middle is one of the many between 45 % and \
             55 % of the catalogue, near the end between 89 % and 99 %, in no order.",
            bench.effort.rounds, bench.effort.seconds
        )],
    })
}

fn row(size: &Size, resident_kib: u64) -> Value {
    let answers = QUESTIONS.iter().zip(&size.answers).map(|(question, (per_second, p50))| {
        ((*question).to_owned(), json!({ "requests_per_second": per_second, "p50_us": p50 }))
    });
    json!({
        "animals": size.animals,
        "answers": Value::Object(answers.collect()),
        "start_ms": size.start_ms,
        "resident_kib": resident_kib,
        "file_bytes": size.seed.size(),
    })
}

fn draw(sizes: &[Size], folder: &Path) -> Outcome<()> {
    let line = |(at, question): (usize, &&str)| Line {
        name: (*question).to_owned(),
        points: sizes.iter().map(|size| (size.animals as f64, size.answers[at].1)).collect(),
    };
    let lines: Vec<_> = QUESTIONS.iter().enumerate().map(line).collect();
    chart::draw(
        &folder.join("growth.svg"),
        "Median time until an answer, by the size of the catalogue",
        ["animals", "µs"],
        &lines,
    )
}
