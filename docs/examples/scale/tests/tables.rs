//! The tables of `docs/SCALE.md` are what the simulations give.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{env, fmt::Write as _, fs, path::Path};

use example_scale::{Additions, Caches};

fn additions() -> String {
    let mut table = String::from(
        "| instances | a commit takes | additions a second | in a group | p50 | p99 |\n\
         |---:|---:|---:|---:|---:|---:|\n",
    );
    for (instances, commit, rate) in [
        (1, 0.001, 1_000.0),
        (1, 0.001, 30_000.0),
        (8, 0.001, 30_000.0),
        (8, 0.005, 10_000.0),
        (8, 0.005, 30_000.0),
        (32, 0.005, 30_000.0),
        (8, 0.060, 5_000.0),
        (32, 0.060, 5_000.0),
        (8, 0.060, 30_000.0),
        (8, 0.005, 60_000.0),
    ] {
        let load = Additions { instances, commit, rate };
        let (outcome, ms) = (load.simulate(), 1000.0 * commit);
        write!(table, "| {instances} | {ms:.0} ms | {rate:.0} | ").unwrap();
        if rate > load.limit() {
            writeln!(table, "1024 | grows | grows |").unwrap();
        } else {
            let [median, p99] = [outcome.median, outcome.p99].map(|seconds| 1000.0 * seconds);
            writeln!(table, "{:.0} | {median:.0} ms | {p99:.0} ms |", outcome.group).unwrap();
        }
    }
    table
}

fn caches() -> String {
    let mut table = String::from(
        "| reads a second | commits a second | one version | 16 partitions | 256 partitions |\n\
         |---:|---:|---:|---:|---:|\n",
    );
    for (reads, commits) in [
        (10_000.0, 1.0),
        (10_000.0, 10.0),
        (10_000.0, 200.0),
        (100_000.0, 10.0),
        (100_000.0, 200.0),
    ] {
        let share = |partitions| {
            let hits = Caches { reads, commits, partitions }.share_of_hits();
            format!("{:.0} %", 100.0 * hits)
        };
        let (one, some, many) = (share(1), share(16), share(256));
        writeln!(table, "| {reads:.0} | {commits:.0} | {one} | {some} | {many} |").unwrap();
    }
    table
}

#[test]
fn the_page_has_what_the_simulations_give() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SCALE.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut expected = page.clone();
    for (name, table) in [("additions", additions()), ("caches", caches())] {
        let (begin, end) =
            (format!("<!-- begin: {name} -->\n\n"), format!("\n<!-- end: {name} -->"));
        let (head, rest) = expected.split_once(&begin).unwrap();
        let tail = rest.split_once(&end).unwrap().1;
        expected = format!("{head}{begin}{table}{end}{tail}");
    }
    if env::var_os("PETSTORE_DOCS_WRITE").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(page == expected, "PETSTORE_DOCS_WRITE=1 writes the tables:\n{expected}");
    }
}
