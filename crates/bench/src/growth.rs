//! How the service does with catalogues of very different sizes.

mod catalogues;
mod places;
mod size;
mod table;

use std::path::Path;

use self::size::Size;
use crate::{
    bench::Bench,
    chart::{self, Line},
    check::spot_check,
    client::Client,
    console::note,
    contest::{Side, measure},
    failure::Outcome,
    generator::Push,
    load::{Load, Protocol},
    report::Report,
    request::Request,
    rounds::Rounds,
};

pub(crate) use self::catalogues::Catalogue;

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

/// What all services of one table are started with.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Names the report, and with it the chart.
    name: &'static str,
    title: &'static str,
    /// For `petstore serve`.
    arguments: &'static [&'static str],
    /// Whether each catalogue is asked for as few different things as the one that has the fewest,
    /// so that caches hold as much of a large one as of a small one.
    equal_variety: bool,
}

/// One table for each.
pub(crate) static SETTINGS: [Setting; 2] = [
    Setting { name: "growth", title: "Growing catalogues", arguments: &[], equal_variety: true },
    Setting {
        name: "growth-without-kept-pages",
        title: "Growing catalogues without kept pages",
        arguments: &["--page-cache", "0"],
        equal_variety: false,
    },
];

/// Asks every question of all catalogues in turn, so that what disturbs the machine disturbs all.
pub(crate) fn run(
    bench: &Bench,
    catalogues: &[Catalogue],
    setting: &Setting,
    charts: Option<&Path>,
) -> Outcome<Report> {
    note(setting.title);
    let sizes = catalogues.iter().map(|catalogue| Size::start(bench, catalogue, setting));
    let mut sizes = sizes.collect::<Outcome<Vec<_>>>()?;
    for (at, question) in QUESTIONS.iter().enumerate() {
        note(question);
        let requests = requests(&sizes, at, setting);
        let answers = ask(bench, &sizes, requests)?;
        for (size, answer) in sizes.iter_mut().zip(answers) {
            size.answers.push(answer);
        }
    }
    if let Some(folder) = charts {
        draw(&sizes, setting, folder)?;
    }
    table::report(bench, setting, &sizes)
}

/// What a question asks of each catalogue.
fn requests(sizes: &[Size<'_>], question: usize, setting: &Setting) -> Vec<Vec<Request>> {
    let all = sizes.iter().map(|size| size.catalogue.places.requests(question));
    let mut all: Vec<_> = all.collect();
    if setting.equal_variety {
        let fewest = all.iter().map(Vec::len).min().unwrap_or(0);
        // They are in no order, so what is left is from everywhere.
        for requests in &mut all {
            requests.truncate(fewest);
        }
    }
    all
}

/// The rounds of each catalogue.
fn ask(bench: &Bench, sizes: &[Size<'_>], requests: Vec<Vec<Request>>) -> Outcome<Vec<Rounds>> {
    let folders = sizes.iter().map(|_| bench.fresh_folder()).collect::<Outcome<Vec<_>>>()?;
    let loads = sizes.iter().zip(requests).zip(&folders);
    let loads = loads
        .map(|((size, requests), folder)| {
            spot_check(&mut Client::connect(size.server.address)?, &requests)?;
            Load::new(Protocol::Http1, requests, folder.path())
        })
        .collect::<Outcome<Vec<_>>>()?;
    let mut answers = vec![Rounds::default(); sizes.len()];
    // The first round of each warms caches up, and does not count.
    for number in 0..=bench.effort.rounds {
        for ((size, load), answer) in sizes.iter().zip(&loads).zip(&mut answers) {
            let push = Push {
                address: size.server.address,
                connections: CONNECTIONS,
                seconds: bench.effort.seconds,
                threads: bench.effort.threads,
                seed: number * 7919,
            };
            let round = measure(&bench.generators, Side::new(&size.server, load), push)?;
            if number > 0 {
                answer.rounds.push(round);
            }
        }
    }
    Ok(answers)
}

/// The median time until an answer, in microseconds.
fn p50(answer: &Rounds) -> f64 {
    answer.median(|round| round.tally.p50)
}

fn draw(sizes: &[Size<'_>], setting: &Setting, folder: &Path) -> Outcome<()> {
    let line = |(at, question): (usize, &&str)| Line {
        name: (*question).to_owned(),
        points: sizes
            .iter()
            .map(|size| (size.catalogue.animals() as f64, p50(&size.answers[at])))
            .collect(),
    };
    let lines: Vec<_> = QUESTIONS.iter().enumerate().map(line).collect();
    let file = folder.join(setting.name).with_extension("svg");
    let title = format!("{}: median time until an answer", setting.title);
    chart::draw(&file, &title, ["animals", "µs"], &lines)
}
