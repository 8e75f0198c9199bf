//! What was measured, one column for each size.

use petstore_bench::table::{Table, mebibytes, micros, whole};
use serde_json::{Value, json};

use super::{CONNECTIONS, QUESTIONS, Size};
use crate::{bench::Bench, failure::Outcome, procfs, report::Report};

pub(super) fn report(bench: &Bench, sizes: &[Size]) -> Outcome<Report> {
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
             medians of {} rounds of {} s. Every page has 20 animals. Of the places where such a page \
             can begin, one in the middle is between 45 % and 55 %, one near the end between 89 % and \
             99 %, in no order.",
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
