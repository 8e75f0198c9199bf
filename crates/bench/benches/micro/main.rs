//! Times of single steps of a request, each beside its cost in instructions.
//!
//! `cargo bench -p petstore-bench` runs all, `cargo bench -p petstore-bench -- cursor` those with that
//! in their name. Instructions are counted where valgrind is installed: this program runs itself under
//! callgrind then, once for each step (`one` below).

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up stops")]

mod counts;
mod ground;
mod steps;

use std::{
    env, fs,
    hint::black_box,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use criterion::Criterion;
use petstore_bench::table::{Table, whole};

use self::ground::Ground;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let [_, word, name, times, store] = &arguments[..]
        && word == counts::ONE
    {
        return one(name, times.parse().unwrap(), Path::new(store));
    }
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("micro.db");
    ground::fill(&store);
    let mut steps = steps::all(&Ground::open(&store));
    let results = results();
    let mut criterion =
        Criterion::default().output_directory(&results).without_plots().configure_from_args();
    let mut run = Vec::new();
    for step in &mut steps {
        criterion.bench_function(step.name, |bencher| {
            // Not called for what the command line leaves out.
            run.push(step.name);
            bencher.iter(|| (step.run)());
        });
    }
    criterion.final_summary();
    let tested = arguments.iter().any(|argument| argument == "--test");
    if !tested {
        run.dedup();
        summarise(&run, &results, &store);
    }
}

/// Runs one step so many times, for somebody who counts.
fn one(name: &str, times: usize, store: &Path) {
    let mut steps = steps::all(&Ground::open(store));
    let step = steps.iter_mut().find(|step| step.name == name).unwrap();
    for _ in 0..times {
        (step.run)();
        black_box(());
    }
}

/// Prints the median times and the instructions of the steps that were run.
fn summarise(names: &[&str], results: &Path, store: &Path) {
    let counts = counts::of(names, store);
    let mut table = Table::new(&["step", "time", "instructions"]);
    for (at, name) in names.iter().enumerate() {
        let count = counts.as_ref().map_or_else(|| "-".to_owned(), |counts| whole(counts[at]));
        table.add(vec![(*name).to_owned(), median(results, name), count]);
    }
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{}", table.aligned());
    if counts.is_none() {
        let _ = writeln!(stdout, "*** valgrind is not installed: no instructions were counted ***");
    }
}

/// Where the results of earlier runs are, too: criterion compares with them.
fn results() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.unwrap_or(workspace).join("criterion")
}

/// The median that criterion has estimated.
fn median(results: &Path, name: &str) -> String {
    let file = results.join(name.replace('/', "_")).join("new/estimates.json");
    let text = fs::read(file).unwrap_or_default();
    let estimates: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let nanos = estimates["median"]["point_estimate"].as_f64();
    nanos.map_or_else(|| "-".to_owned(), |nanos| format!("{nanos:.0} ns"))
}
