//! Released files do not change.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use super::old;
use crate::support::{command::complete, store::Store};

/// Returns the paths in the repository of the files that must not change: the SQL of the schemas, and the kept adapter.
fn files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, kind) in [
        ("crates/sqlite/src/schema", ".sql"),
        ("crates/postgres/src/schema", ".sql"),
        ("tests/upgrades/kept/src", ".rs"),
    ] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: Vec<_> = names.filter(|name| name.ends_with(kind)).collect();
        assert!(names.len() > 1, "{folder}");
        found.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    found
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn a_released_file_is_not_changed() {
    let list = old::folder().join("released.sha256");
    let listed = fs::read_to_string(&list).unwrap();
    let listed = listed.lines().map(|line| line.split_once("  ").unwrap().1.to_owned()).collect();
    assert_eq!(
        files(),
        listed,
        "a released step must not change: add another step, with its line in released.sha256 \
         (sha256sum crates/*/src/schema/*.sql tests/upgrades/kept/src/*.rs) and the stores that tests/tools/make-fixtures makes"
    );
    let mut check = Command::new("sha256sum");
    complete(check.args(["--check", "--quiet"]).arg(list).current_dir(root())).succeeds();
}

#[test]
fn the_newest_fixtures_have_the_newest_released_schema() {
    let release = old::releases().pop().unwrap();
    let folder = old::folder().join(&release);
    // A copy, because SQLite makes files beside the store even for a read.
    let copy = Store::sqlite();
    fs::copy(folder.join("sqlite.store"), copy.file()).unwrap();
    let version = "SELECT version FROM petstore_schema";
    let sqlite = copy.connection().query_row(version, [], |row| row.get(0)).unwrap();
    let dump = fs::read_to_string(folder.join("postgres.sql")).unwrap();
    let row = dump.split("INSERT INTO public.petstore_schema").nth(1).unwrap();
    let mut numbers = row.split(|end: char| !end.is_ascii_digit()).filter_map(|it| it.parse().ok());
    let postgres: i64 = numbers.nth(1).unwrap();
    for (version, store) in [(sqlite, "sqlite"), (postgres, "postgres")] {
        let place = format!("crates/{store}/src/schema/");
        let step = |path: String| path.strip_prefix(&place)?.strip_suffix(".sql")?.parse().ok();
        let newest: i64 = files().into_iter().filter_map(step).max().unwrap();
        // The release under test may have a step without a fixture.
        assert!(version == newest || release != old::CURRENT && version < newest, "{store}");
    }
}
