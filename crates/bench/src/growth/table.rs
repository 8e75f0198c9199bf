//! What was measured, one column for each size.

use petstore_bench::table::{Table, mebibytes, micros, whole};
use serde_json::{Value, json};

use super::{CONNECTIONS, QUESTIONS, Setting, p50, size::Size};
use crate::{
    bench::Bench,
    failure::Outcome,
    procfs,
    report::Report,
    rounds::{Rounds, most_to_least},
};

pub(super) fn report(bench: &Bench, setting: &Setting, sizes: &[Size<'_>]) -> Outcome<Report> {
    let memory = sizes.iter().map(|size| Ok(procfs::memory(size.server.pid())?.resident));
    let memory = memory.collect::<Outcome<Vec<_>>>()?;
    let apart = |question| {
        let answers = sizes.iter().map(|size| &size.answers[question]);
        most_to_least(&answers.collect::<Vec<_>>())
    };
    let apart: Vec<_> = (0..QUESTIONS.len()).map(apart).collect();
    Ok(Report {
        name: setting.name,
        title: setting.title.to_owned(),
        table: table(sizes, &memory, &apart),
        rows: sizes.iter().zip(&memory).map(|(size, kib)| row(size, *kib, &apart)).collect(),
        notes: notes(bench, setting),
    })
}

fn table(sizes: &[Size<'_>], memory: &[u64], apart: &[f64]) -> Table {
    let name = |size: &Size<'_>| format!("{} animals", whole(size.catalogue.animals() as f64));
    let mut header = vec!["of a catalogue of".to_owned()];
    header.extend(sizes.iter().map(name));
    header.push("most / least".to_owned());
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    let mut add = |name: &str, cells: Vec<String>, apart: f64| {
        let mut row = vec![name.to_owned()];
        row.extend(cells);
        row.push(format!("{apart:.2}"));
        table.add(row);
    };
    for ((at, question), apart) in QUESTIONS.iter().enumerate().zip(apart) {
        let cell =
            |answer: &Rounds| format!("{}/s, {}", whole(answer.per_second()), micros(p50(answer)));
        add(question, sizes.iter().map(|size| cell(&size.answers[at])).collect(), *apart);
    }
    let starts: Vec<_> = sizes.iter().map(|size| size.start_ms * 1e3).collect();
    let cells = starts.iter().copied().map(micros).collect();
    add("start to first answer", cells, greatest_to_least(&starts));
    let mut add_memory = |name: &str, kib: Vec<u64>| {
        let apart = greatest_to_least(&kib.iter().map(|kib| *kib as f64).collect::<Vec<_>>());
        add(name, kib.into_iter().map(mebibytes).collect(), apart);
    };
    add_memory("file", sizes.iter().map(|size| size.store.size() / 1024).collect());
    add_memory("RSS after all this", memory.to_vec());
    table
}

fn greatest_to_least(figures: &[f64]) -> f64 {
    let greatest = figures.iter().copied().fold(0.0, f64::max);
    greatest / figures.iter().copied().fold(f64::INFINITY, f64::min)
}

fn notes(bench: &Bench, setting: &Setting) -> Vec<String> {
    let settings = match setting.arguments {
        [] => "default settings".to_owned(),
        arguments => format!("`serve {}`", arguments.join(" ")),
    };
    let variety = if setting.equal_variety {
        "Of each catalogue, as many different pages and animals are asked for as of the smallest."
    } else {
        "Of each catalogue, up to 10,000 different pages and animals are asked for."
    };
    vec![
        format!(
            "Requests per second, and the median time of one, on {CONNECTIONS} connections; SQLite; \
             {settings}; medians of {} rounds of {} s, the catalogues in turns. Most / least: the \
             requests per second of the fastest size to those of the slowest, the median of \
             neighbouring rounds; in the last three lines, the greatest figure to the least.",
            bench.effort.rounds, bench.effort.seconds
        ),
        format!(
            "Every page has 20 animals. Of the places where such a page can begin, one in the middle \
             is between 45 % and 55 %, one near the end between 89 % and 99 %, in no order. {variety} \
             Adding comes last, and the animals added stay."
        ),
    ]
}

fn row(size: &Size<'_>, resident_kib: u64, apart: &[f64]) -> Value {
    let answers = QUESTIONS.iter().zip(&size.answers).zip(apart);
    let answers = answers.map(|((question, answer), apart)| {
        let answer = json!({
            "requests_per_second": answer.per_second(),
            "p50_us": p50(answer),
            "most_to_least": apart,
        });
        ((*question).to_owned(), answer)
    });
    json!({
        "animals": size.catalogue.animals(),
        "answers": Value::Object(answers.collect()),
        "start_ms": size.start_ms,
        "resident_kib": resident_kib,
        "file_bytes": size.store.size(),
    })
}
