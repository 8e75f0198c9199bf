//! How the service does with catalogues of very different sizes.

mod places;
mod table;

use std::{path::Path, time::Instant};

use tempfile::TempDir;

use self::places::Places;

use crate::{
    bench::Bench,
    catalogue::Seed,
    chart::{self, Line},
    check::spot_check,
    client::Client,
    console::note,
    contest::{Side, measure},
    failure::Outcome,
    generator::Push,
    load::{Load, Protocol},
    median::median,
    report::Report,
    rounds::Round,
    server::Server,
    workload::hot,
};

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
    table::report(bench, &grown)
}

fn grow(bench: &Bench, animals: u64) -> Outcome<Size> {
    let folder = bench.fresh_folder()?;
    let seed = Seed::make(&bench.binary, folder.path(), animals)?;
    let began = Instant::now();
    let server = Server::petstore(&bench.binary, &seed.url(), &folder.path().join("log"))?;
    spot_check(&mut Client::connect(server.address)?, &[hot()])?;
    let start_ms = began.elapsed().as_secs_f64() * 1e3;
    note(format_args!("walking along the pages of {animals} animals"));
    let places = Places::find(&mut Client::connect(server.address)?, animals)?;
    Ok(Size { animals, server, seed, places, start_ms, answers: Vec::new(), _folder: folder })
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
