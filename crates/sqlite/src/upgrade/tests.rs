//! Upgrades of stores of older versions, also beside processes that use the store.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Barrier, thread};

use petstore_domain::{Phase, StoreId};
use petstore_storage::{Step, Upgrade, UpgradeMode};
use rusqlite::{Connection, config::DbConfig};
use tempfile::TempDir;

use super::upgrade;
use crate::{
    config::{SqliteConfig, Synchronous},
    connection::beside,
    schema::{self, FIRST, STEPS, VERSION},
    store::SqliteStore,
};

/// A store with the first schema version and the animals of `sql`.
struct Old(TempDir);

impl Old {
    fn with(sql: &str) -> Self {
        let old = Self(TempDir::new().unwrap());
        let file = old.raw();
        file.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        file.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
        schema::apply(&STEPS[0], &file).unwrap();
        file.execute_batch(sql).unwrap();
        old
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("petstore.db")
    }

    fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn upgrade(&self, mode: UpgradeMode, steps: &[Step]) -> Result<Upgrade, String> {
        upgrade(&self.path(), mode, steps).map(Option::unwrap).map_err(|error| error.to_string())
    }

    fn version(&self) -> i64 {
        schema::recorded_version(&self.raw()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// A step that is incompatible with older releases.
const ALONE: Step = Step {
    version: VERSION + 1,
    summary: "a test",
    sql: "ALTER TABLE pet RENAME TO animal",
    oldest: VERSION + 1,
    oldest_release: "9.9.9",
    offending: None,
};

fn with(step: Step) -> Vec<Step> {
    [&STEPS[..], &[step]].concat()
}

const REX: &str = "INSERT INTO pet (name, category_id) VALUES ('Rex', 1)";

#[test]
fn an_upgraded_store_has_the_schema_of_a_new_one() {
    let old = Old::with(REX);
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let (found, new) = (old.raw(), schema::in_memory().unwrap());
    let objects = |connection: &Connection| {
        let sql = "SELECT name, sql FROM sqlite_schema ORDER BY name";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<Vec<(String, Option<String>)>, _>>().unwrap()
    };
    assert_eq!(objects(&found), objects(&new));
    assert_eq!(old.version(), VERSION);
}

#[test]
fn a_dry_run_reports_what_the_upgrade_reports_and_changes_nothing() {
    let old = Old::with(REX);
    let before = fs::read(old.path()).unwrap();
    let said = old.upgrade(UpgradeMode::DryRun, &STEPS).unwrap();
    assert!(fs::read(old.path()).unwrap() == before);
    assert_eq!(old.names(), ["petstore.db"]);
    assert_eq!(old.upgrade(UpgradeMode::Run, &STEPS).unwrap(), said);
    let copy = beside(&old.path(), ".before-upgrade");
    let saved_to = Some(copy.display().to_string());
    assert_eq!(said, Upgrade { from: FIRST, steps: STEPS[1..].to_vec(), saved_to });
    let again = old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    assert_eq!(again, Upgrade { from: VERSION, steps: Vec::new(), saved_to: None });
}

#[test]
fn the_copy_has_the_old_content_and_is_for_its_owner_alone() {
    let old = Old::with(REX);
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let copy = beside(&old.path(), ".before-upgrade");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = Connection::open(copy).unwrap();
    assert_eq!(schema::recorded_version(&copy).unwrap(), FIRST);
    let name: String = copy.query_row("SELECT name FROM pet", [], |row| row.get(0)).unwrap();
    assert_eq!(name, "Rex");
    drop(copy);
    // An older copy and a partial copy are replaced.
    fs::write(beside(&old.path(), ".before-upgrade.partial"), "cut off").unwrap();
    old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap();
    let copy = Connection::open(beside(&old.path(), ".before-upgrade")).unwrap();
    assert_eq!(schema::recorded_version(&copy).unwrap(), VERSION);
    drop(copy);
    assert_eq!(old.names(), ["petstore.db", "petstore.db.before-upgrade"]);
}

#[test]
fn a_foreign_file_with_the_name_of_the_copy_is_not_replaced() {
    let old = Old::with(REX);
    let copy = beside(&old.path(), ".before-upgrade");
    fs::write(&copy, "a letter").unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &STEPS).unwrap_err();
    assert!(refusal.ends_with("is no copy of a petstore store; move it away"), "{refusal}");
    assert_eq!((fs::read_to_string(copy).unwrap().as_str(), old.version()), ("a letter", FIRST));
}

#[test]
fn rows_that_break_a_new_rule_are_named_and_nothing_is_changed() {
    let bad = [
        "''",
        "'   '",
        "'a' || char(0)",
        "char(7) || 'b'",
        "'c' || char(133)",
        "char(127)",
        "char(160, 12288, 8195)",
        "printf('%.256c', 'x')",
    ];
    let insert = |name: &str| format!("INSERT INTO pet (name, category_id) VALUES ({name}, 1)");
    let old = Old::with(REX);
    for name in
        ["' x '", "printf('%.255c', 'x')", "char(160, 97)", "char(128021)"].iter().chain(&bad)
    {
        old.raw().execute(&insert(name), []).unwrap();
    }
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run, UpgradeMode::Force] {
        let refusal = old.upgrade(mode, &STEPS).unwrap_err();
        for id in 1..=13 {
            assert_eq!(refusal.contains(&format!("animal {id} (")), id > 5, "{id}: {refusal}");
        }
        assert_eq!((old.version(), old.names().len()), (FIRST, 1), "{refusal}");
    }
    old.raw().execute("DELETE FROM pet WHERE id > 5", []).unwrap();
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    // From now on, such rows cannot be written.
    for name in bad {
        assert!(old.raw().execute(&insert(name), []).is_err(), "{name}");
    }
}

#[test]
fn an_incompatible_step_is_refused_while_another_process_has_the_store_open() {
    let old = Old::with(REX);
    let other = old.raw();
    other.query_row("SELECT count(*) FROM pet", [], |_| Ok(())).unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap_err();
    assert!(refusal.contains("cannot run beside an older release"), "{refusal}");
    drop(other);
    old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap();
    assert_eq!(old.version(), ALONE.version);

    let old = Old::with(REX);
    let other = old.raw();
    other.query_row("SELECT count(*) FROM pet", [], |_| Ok(())).unwrap();
    let forced = old.upgrade(UpgradeMode::Force, &with(ALONE)).unwrap();
    assert!(!forced.steps.last().unwrap().is_compatible());
}

#[tokio::test]
async fn a_store_of_a_newer_release_is_used_if_it_is_compatible() {
    let compatible = Step { oldest: VERSION, sql: "CREATE TABLE more (x)", ..ALONE };
    let old = Old::with(REX);
    old.upgrade(UpgradeMode::Run, &with(compatible)).unwrap();
    let config = SqliteConfig { path: old.path(), synchronous: Synchronous::Normal };
    drop(SqliteStore::open(&config).unwrap());
    drop(SqliteStore::open_read_only(&config).unwrap());
    let nothing = SqliteStore::upgrade(&config, UpgradeMode::Run).unwrap().unwrap();
    assert_eq!((nothing.from, nothing.steps.len()), (VERSION + 1, 0));

    let old = Old::with(REX);
    old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap();
    let config = SqliteConfig { path: old.path(), synchronous: Synchronous::Normal };
    let before = fs::read(old.path()).unwrap();
    let expected = format!(
        "cannot open the store {}: its schema cannot be used below version {}, and petstore {} knows \
         version {VERSION}; it was left untouched: use petstore 9.9.9 or newer, or the copy or backup that was made before \
         its upgrade",
        old.path().display(),
        VERSION + 1,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(SqliteStore::open(&config).unwrap_err().to_string(), expected);
    assert_eq!(SqliteStore::open_read_only(&config).unwrap_err().to_string(), expected);
    let refusal = SqliteStore::upgrade(&config, UpgradeMode::Force).unwrap_err();
    assert_eq!(refusal.to_string(), expected);
    assert!(fs::read(old.path()).unwrap() == before);
}

/// Makes a store with the previous schema version, as the previous release leaves it.
fn of_version_9(sql: &str) -> Old {
    let old = Old::with(REX);
    old.upgrade(UpgradeMode::Run, &STEPS[..3]).unwrap();
    old.raw().execute_batch(sql).unwrap();
    old
}

#[test]
fn the_youngest_record_of_each_id_is_kept() {
    let insert = |seq, id, pet, at| {
        format!(
            "INSERT INTO idempotency VALUES ({seq}, zeroblob({id}), zeroblob(32), {pet}, {at});"
        )
    };
    let old = of_version_9(
        &[insert(1, 1, 5, 30), insert(2, 1, 6, 20), insert(3, 2, 7, 10), insert(4, 2, 8, 10)]
            .concat(),
    );
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let file = old.raw();
    let mut statement = file.prepare("SELECT pet_id FROM idempotency ORDER BY pet_id").unwrap();
    let pets = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(pets.collect::<Result<Vec<_>, _>>().unwrap(), [5, 8]);
}

#[test]
fn a_key_of_the_first_release_gets_its_rights() {
    let insert = |digest: i32, prefix| {
        format!(
            "INSERT INTO api_key (name, digest, prefix, created_at) VALUES ('k', zeroblob({digest}), '{prefix}', 0);"
        )
    };
    let old = of_version_9(&[insert(1, "pst_1"), insert(2, "psr_1")].concat());
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let sql = "SELECT group_concat(rights) FROM (SELECT rights FROM api_key ORDER BY id)";
    let rights: String = old.raw().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(rights, "full,read-only");
}

/// Such a process remains after `--force`, or if it was opening the file during the upgrade.
#[test]
fn a_process_of_an_older_release_neither_writes_nor_serves_pages() {
    let old = of_version_9("");
    let process = old.raw();
    process.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    // Release 1.2.0 reads the state first in each transaction, and in each read without a version.
    let state =
        "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only = 1";
    let version = "SELECT version FROM catalogue WHERE only = 1";
    // Releases 1.0.0 to 1.2.0 run this statement at the end of each transaction that changes an animal.
    let renew = "UPDATE catalogue SET version = randomblob(16) WHERE only = 1";
    let (mut state, mut version, mut renew) = (
        process.prepare(state).unwrap(),
        process.prepare(version).unwrap(),
        process.prepare(renew).unwrap(),
    );
    renew.execute([]).unwrap();
    version.query_row([], |row| row.get::<_, [u8; 16]>(0)).unwrap();
    old.upgrade(UpgradeMode::Force, &STEPS).unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        let other: Option<[u8; 16]> = row.get(4)?;
        let word: String = row.get(3)?;
        let phase = Phase::from_parts(&word, other.map(StoreId), row.get(5)?);
        Ok((
            row.get::<_, [u8; 16]>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
            phase.unwrap(),
        ))
    };
    let phase = state.query_row([], read).unwrap().3;
    let why = phase.refusal().unwrap();
    assert!(
        why.contains("petstore 2.0.0, which has upgraded its schema: stop this process"),
        "{why}"
    );
    assert_eq!(version.query_row([], |row| row.get::<_, Vec<u8>>(0)).unwrap(), []);
    let refusal = renew.execute([]).unwrap_err().to_string();
    assert!(refusal.contains("because it is a view"), "{refusal}");
    // A process of an older release that starts later refuses this version.
    let oldest: i64 = process.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(oldest, 10);
}

#[test]
fn a_copy_is_removed_only_if_a_full_disk_prevented_the_commit() {
    let fills = "PRAGMA max_page_count = 1; CREATE TABLE more (x); \
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
        INSERT INTO more SELECT zeroblob(4096) FROM n";
    for (sql, message, is_kept) in
        [(fills, "no space left", false), ("SELECT no_such_function()", "no_such_function", true)]
    {
        let old = Old::with(REX);
        old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
        let copy = beside(&old.path(), ".before-upgrade");
        fs::remove_file(&copy).unwrap();
        let refusal = old.upgrade(UpgradeMode::Run, &with(Step { sql, ..ALONE })).unwrap_err();
        assert!(refusal.contains(message), "{refusal}");
        assert_eq!(copy.exists(), is_kept, "{refusal}");
        assert_eq!(old.version(), VERSION);
    }
}

#[test]
fn several_processes_may_upgrade_at_once() {
    let old = Old::with(REX);
    let together = Barrier::new(4);
    let done: Vec<_> = thread::scope(|scope| {
        let threads = [(); 4].map(|()| {
            scope.spawn(|| {
                together.wait();
                old.upgrade(UpgradeMode::Run, &STEPS).unwrap().steps.len()
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.iter().sum::<usize>(), STEPS.len() - 1, "{done:?}");
    assert_eq!(old.version(), VERSION);
}

#[test]
fn a_failed_step_leaves_the_store_unchanged() {
    let fails = Step { sql: "CREATE TABLE half (x); SELECT no_such_function()", ..ALONE };
    let old = Old::with(REX);
    let refusal = old.upgrade(UpgradeMode::Run, &with(fails)).unwrap_err();
    assert!(refusal.contains("no_such_function"), "{refusal}");
    assert_eq!(old.version(), FIRST);
    let half = "SELECT count(*) FROM sqlite_schema WHERE name = 'half'";
    assert_eq!(old.raw().query_row(half, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn an_empty_or_missing_file_is_not_upgraded() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("petstore.db");
    let config = SqliteConfig { path: path.clone(), synchronous: Synchronous::Full };
    assert_eq!(SqliteStore::upgrade(&config, UpgradeMode::Run).unwrap(), None);
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    assert_eq!(SqliteStore::upgrade(&config, UpgradeMode::Run).unwrap(), None);
    assert!(fs::read(&path).unwrap().is_empty());
    fs::write(&path, "some text").unwrap();
    assert!(SqliteStore::upgrade(&config, UpgradeMode::Run).is_err());
}
