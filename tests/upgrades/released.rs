//! Released files do not change.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::old;
use crate::support::store::Store;

/// Returns the path in the repository and the digest of each file that must not change: the SQL of the schemas, and the
/// kept adapter.
fn files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeMap::new();
    for (folder, kind) in [
        ("crates/sqlite/src/schema", "sql"),
        ("crates/postgres/src/schema", "sql"),
        ("tests/upgrades/kept/src", "rs"),
    ] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        assert!(paths.len() > 1, "{folder}");
        for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == kind)) {
            let digest = Sha256::digest(fs::read(path).unwrap());
            let digest =
                digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            let name = path.file_name().unwrap().to_str().unwrap();
            found.insert(format!("{folder}/{name}"), digest);
        }
    }
    found
}

#[test]
fn a_released_step_is_not_changed() {
    // In the format of `sha256sum`.
    let listed = fs::read_to_string(old::folder().join("released.sha256")).unwrap();
    let listed: BTreeMap<String, String> = listed
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(digest, path)| (path.to_owned(), digest.to_owned()))
        .collect();
    assert_eq!(
        files(),
        listed,
        "a step that was released stays as it is: add another one, with its line in released.sha256 \
         (sha256sum crates/*/src/schema/*.sql tests/upgrades/kept/src/*.rs) and the stores that tests/tools/make-fixtures makes"
    );
}

#[test]
fn every_schema_of_a_release_has_its_store() {
    let (mut sqlite, mut postgres) = (Vec::new(), Vec::new());
    for release in old::releases() {
        let folder = old::folder().join(&release);
        // A copy, because SQLite makes files beside the store even for a read.
        let copy = Store::sqlite();
        fs::copy(folder.join("sqlite.store"), copy.file()).unwrap();
        let file = rusqlite::Connection::open(copy.file()).unwrap();
        let version = file.query_row("SELECT version FROM petstore_schema", [], |row| row.get(0));
        sqlite.push(version.unwrap_or(7));
        let dump = fs::read_to_string(folder.join("postgres.sql")).unwrap();
        let row = dump.lines().find(|line| line.starts_with("INSERT INTO public.petstore_schema"));
        let numbers: Vec<i64> = row
            .unwrap()
            .split(|character: char| !character.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        // The first release wrote one number. Later releases write the version as the second number.
        postgres.push(*numbers.get(1).unwrap_or(&numbers[0]));
    }
    let newest = |folder: &str| {
        let names = files().into_keys().filter_map(|path| {
            path.strip_prefix(folder)?.strip_suffix(".sql")?.parse::<i64>().ok()
        });
        names.max().unwrap()
    };
    for (versions, folder) in [(sqlite, "sqlite"), (postgres, "postgres")] {
        let (released, newest) =
            (versions.into_iter().max().unwrap(), newest(&format!("crates/{folder}/src/schema/")));
        // The release under test may have a step without a fixture.
        let is_released = old::releases().iter().any(|release| release == old::CURRENT);
        assert!(released == newest || !is_released && released < newest, "{folder}");
    }
}
