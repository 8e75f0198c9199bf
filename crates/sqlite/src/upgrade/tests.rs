//! Upgrades of stores of older versions, also beside processes that use the store.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    thread,
    time::Duration,
};

use petstore_domain::{Phase, StoreId};
use petstore_storage::{Step, Upgrade, UpgradeMode};
use rusqlite::{Connection, config::DbConfig};

use super::upgrade;
use crate::{
    connection::beside,
    error::Reason,
    schema::{self, FIRST, STEPS, VERSION},
    store::SqliteStore,
    tests::Place,
};

/// A store with an older schema version and an animal named `Rex`.
struct Old(Place);

impl Old {
    /// Makes a store with the first schema version.
    fn new() -> Self {
        let old = Self(Place::new());
        let file = old.raw();
        file.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        file.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
        schema::apply(&STEPS[0], &file).unwrap();
        file.execute("INSERT INTO pet (name, category_id) VALUES ('Rex', 1)", []).unwrap();
        old
    }

    /// Makes a store with the previous schema version, as the previous release leaves it.
    fn of_version_9() -> Self {
        let old = Self::new();
        old.upgrade(UpgradeMode::Run, &STEPS[..3]).unwrap();
        old
    }

    fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// Returns the path of the copy that an upgrade makes.
    fn copy(&self) -> PathBuf {
        beside(&self.path(), ".before-upgrade")
    }

    fn raw(&self) -> Connection {
        self.0.raw()
    }

    fn upgrade(&self, mode: UpgradeMode, steps: &[Step]) -> Result<Upgrade, String> {
        upgrade(&self.path(), mode, steps).map(Option::unwrap).map_err(|error| error.to_string())
    }

    fn version(&self) -> i64 {
        schema::recorded_version(&self.raw()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
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

#[test]
fn a_dry_run_reports_what_the_upgrade_reports_and_changes_nothing() {
    let old = Old::new();
    let before = fs::read(old.path()).unwrap();
    let said = old.upgrade(UpgradeMode::DryRun, &STEPS).unwrap();
    assert!(fs::read(old.path()).unwrap() == before);
    assert_eq!(old.names(), ["petstore.db"]);
    assert_eq!(old.upgrade(UpgradeMode::Run, &STEPS).unwrap(), said);
    let saved_to = Some(old.copy().display().to_string());
    assert_eq!(said, Upgrade { from: FIRST, steps: STEPS[1..].to_vec(), saved_to });
    let again = old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    assert_eq!(again, Upgrade { from: VERSION, steps: Vec::new(), saved_to: None });
}

#[test]
fn the_copy_has_the_old_content_and_is_for_its_owner_alone() {
    let old = Old::new();
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let mode = |permissions: Permissions| permissions.mode() & 0o777;
    assert_eq!(mode(fs::metadata(old.copy()).unwrap().permissions()), 0o600);
    let copy = Connection::open(old.copy()).unwrap();
    assert_eq!(schema::recorded_version(&copy).unwrap(), FIRST);
    let name: String = copy.query_row("SELECT name FROM pet", [], |row| row.get(0)).unwrap();
    assert_eq!(name, "Rex");
    drop(copy);
    // An older copy and a partial copy are replaced.
    fs::write(beside(&old.copy(), ".partial"), "cut off").unwrap();
    old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap();
    let copy = Connection::open(old.copy()).unwrap();
    assert_eq!(schema::recorded_version(&copy).unwrap(), VERSION);
    drop(copy);
    assert_eq!(old.names(), ["petstore.db", "petstore.db.before-upgrade"]);
}

#[test]
fn a_foreign_file_or_directory_with_the_name_of_the_copy_is_not_replaced() {
    let old = Old::new();
    fs::write(old.copy(), "a letter").unwrap();
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run] {
        let refusal = old.upgrade(mode, &STEPS).unwrap_err();
        assert!(refusal.ends_with("is no copy of a petstore store; move it away"), "{refusal}");
        assert_eq!(fs::read_to_string(old.copy()).unwrap(), "a letter");
    }
    fs::remove_file(old.copy()).unwrap();
    fs::create_dir(old.copy()).unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &STEPS).unwrap_err();
    assert!(refusal.contains("the copy before the upgrade was not made: "), "{refusal}");
    assert_eq!(old.names(), ["petstore.db", "petstore.db.before-upgrade"], "a partial copy stays");
    assert_eq!(old.version(), FIRST);
}

#[test]
fn rows_that_break_a_new_rule_are_named_and_nothing_is_changed() {
    let good = ["' x '", "printf('%.255c', 'x')", "char(160, 97)", "char(128021)"];
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
    let old = Old::new();
    let add = |name: &str| {
        old.raw().execute(&format!("INSERT INTO pet (name, category_id) VALUES ({name}, 1)"), [])
    };
    for name in good.iter().chain(&bad) {
        add(name).unwrap();
    }
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run, UpgradeMode::Force] {
        let refusal = old.upgrade(mode, &STEPS).unwrap_err();
        for id in 1..=13 {
            assert_eq!(refusal.contains(&format!("animal {id} (")), id > 5, "{id}: {refusal}");
        }
        assert_eq!((old.version(), old.names().len()), (FIRST, 1), "{refusal}");
    }
    let moved = "DELETE FROM pet WHERE id > 5; CREATE TABLE relocation (only)";
    old.raw().execute_batch(moved).unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &STEPS).unwrap_err();
    assert!(refusal.contains("finish that with that release"), "{refusal}");
    old.raw().execute("DROP TABLE relocation", []).unwrap();
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    // From now on, such rows cannot be written.
    for name in bad {
        assert!(add(name).is_err(), "{name}");
    }
}

#[test]
fn an_incompatible_step_is_refused_while_another_process_has_the_store_open() {
    let old = Old::new();
    let other = old.raw();
    let read = "SELECT count(*) FROM pet";
    other.query_row(read, [], |_| Ok(())).unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap_err();
    assert!(refusal.contains("cannot run beside an older release"), "{refusal}");
    assert_eq!(old.version(), FIRST);
    // The upgrade waits for a process that ends soon.
    let ends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(other);
    });
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    ends.join().unwrap();
    let other = old.raw();
    other.query_row(read, [], |_| Ok(())).unwrap();
    let forced = old.upgrade(UpgradeMode::Force, &with(ALONE)).unwrap();
    assert!(!forced.steps.last().unwrap().is_compatible());
}

#[tokio::test]
async fn a_store_of_a_newer_release_is_used_if_it_is_compatible() {
    let compatible = Step { oldest: VERSION, sql: "CREATE TABLE more (x)", ..ALONE };
    let old = Old::new();
    old.upgrade(UpgradeMode::Run, &with(compatible)).unwrap();
    let config = old.0.config();
    drop(SqliteStore::open(&config).unwrap());
    drop(SqliteStore::open_read_only(&config).unwrap());
    let nothing = SqliteStore::upgrade(&config, UpgradeMode::Run).unwrap().unwrap();
    assert_eq!((nothing.from, nothing.steps.len()), (VERSION + 1, 0));

    let old = Old::new();
    old.upgrade(UpgradeMode::Run, &with(ALONE)).unwrap();
    let config = old.0.config();
    let before = fs::read(old.path()).unwrap();
    for refusal in [
        SqliteStore::open(&config).unwrap_err(),
        SqliteStore::open_read_only(&config).unwrap_err(),
        SqliteStore::upgrade(&config, UpgradeMode::Force).unwrap_err(),
    ] {
        let refusal = refusal.to_string();
        assert!(refusal.contains("use petstore 9.9.9 or newer"), "{refusal}");
    }
    assert!(fs::read(old.path()).unwrap() == before);
}

#[test]
fn the_youngest_record_of_each_id_is_kept() {
    let old = Old::of_version_9();
    for (id, pet, at) in [(1, 5, 30), (1, 6, 20), (2, 7, 10), (2, 8, 10)] {
        let insert = "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
             VALUES (zeroblob(?1), zeroblob(32), ?2, ?3)";
        old.raw().execute(insert, [id, pet, at]).unwrap();
    }
    old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
    let sql = "SELECT group_concat(pet_id ORDER BY pet_id) FROM idempotency";
    let pets: String = old.raw().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(pets, "5,8");
}

/// Such a process remains after `--force`, or if it was opening the file during the upgrade.
#[test]
fn a_process_of_an_older_release_neither_writes_nor_serves_pages() {
    let old = Old::of_version_9();
    let process = old.raw();
    process.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    // Release 1.2.0 reads the state first in each transaction, and in each read without a version.
    let state =
        "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only = 1";
    let version = "SELECT version FROM catalogue WHERE only = 1";
    // Releases 1.0.0 to 1.2.0 run this statement at the end of each transaction that changes an animal.
    let renew = "UPDATE catalogue SET version = randomblob(16) WHERE only = 1";
    let [mut state, mut version, mut renew] =
        [state, version, renew].map(|sql| process.prepare(sql).unwrap());
    renew.execute([]).unwrap();
    version.query_row([], |row| row.get::<_, [u8; 16]>(0)).unwrap();
    old.upgrade(UpgradeMode::Force, &STEPS).unwrap();
    let read = |row: &rusqlite::Row<'_>| row.try_into();
    let (_, _, _, word, other, label): ([u8; 16], i64, i64, String, Option<[u8; 16]>, _) =
        state.query_row([], read).unwrap();
    let why = Phase::from_parts(&word, other.map(StoreId), label).unwrap().refusal().unwrap();
    let expected = "petstore 2.0.0, which has upgraded its schema: stop this process";
    assert!(why.contains(expected), "{why}");
    assert_eq!(version.query_row([], |row| row.get::<_, Vec<u8>>(0)).unwrap(), []);
    let refusal = renew.execute([]).unwrap_err().to_string();
    assert!(refusal.contains("because it is a view"), "{refusal}");
    // A process of an older release that starts later refuses this version.
    assert_eq!(old.0.number("PRAGMA user_version"), 10);
}

#[test]
fn a_failed_step_changes_nothing_and_leaves_no_copy_on_a_full_disk() {
    let fills = "PRAGMA max_page_count = 1; CREATE TABLE half (x); \
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
        INSERT INTO half SELECT zeroblob(4096) FROM n";
    let fails = "CREATE TABLE half (x); SELECT no_such_function()";
    for (sql, message, keeps_copy) in
        [(fills, "no space left", false), (fails, "no_such_function", true)]
    {
        let old = Old::new();
        old.upgrade(UpgradeMode::Run, &STEPS).unwrap();
        fs::remove_file(old.copy()).unwrap();
        let refusal = old.upgrade(UpgradeMode::Run, &with(Step { sql, ..ALONE })).unwrap_err();
        assert!(refusal.contains(message), "{refusal}");
        assert_eq!(old.copy().exists(), keeps_copy, "{refusal}");
        assert_eq!(old.version(), VERSION);
        let half = "SELECT count(*) FROM sqlite_schema WHERE name = 'half'";
        assert_eq!(old.0.number(half), 0, "{refusal}");
    }
    // The copy itself fills the disk.
    let old = Old::new();
    symlink("/dev/full", beside(&old.copy(), ".partial")).unwrap();
    let refusal = upgrade(&old.path(), UpgradeMode::Run, &STEPS).unwrap_err();
    assert!(matches!(refusal, Reason::Passing(_)), "{refusal}");
    assert_eq!((old.names(), old.version()), (vec!["petstore.db".to_owned()], FIRST));
}

#[test]
fn an_upgrade_sees_what_another_process_has_done_meanwhile() {
    let upgrade: fn(&Connection) =
        |other| STEPS[1..].iter().for_each(|step| schema::apply(step, other).unwrap());
    let add: fn(&Connection) =
        |other| other.execute_batch("INSERT INTO pet (name, category_id) VALUES ('', 1)").unwrap();
    for (mode, change, says) in
        [(UpgradeMode::Run, upgrade, "[] None"), (UpgradeMode::Force, add, "refuses animal 2 (")]
    {
        let old = Old::new();
        let other = old.raw();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let upgraded = thread::scope(|scope| {
            let upgrading = scope.spawn(|| old.upgrade(mode, &STEPS));
            // The upgrade plans its steps, and waits for the lock.
            thread::sleep(Duration::from_millis(200));
            change(&other);
            other.execute_batch("COMMIT").unwrap();
            upgrading.join().unwrap()
        });
        let said = upgraded
            .map_or_else(|refusal| refusal, |it| format!("{:?} {:?}", it.steps, it.saved_to));
        assert!(said.contains(says), "{said}");
        assert!(!old.copy().exists());
    }
}

#[test]
fn the_log_of_another_old_store_is_refused() {
    let [old, other] = [(); 2].map(|()| Old::of_version_9());
    let writer = other.raw();
    writer.execute("DELETE FROM pet", []).unwrap();
    fs::copy(beside(&other.path(), "-wal"), beside(&old.path(), "-wal")).unwrap();
    let refusal = old.upgrade(UpgradeMode::Run, &STEPS).unwrap_err();
    assert!(refusal.contains("is the log of another store"), "{refusal}");
}

#[test]
fn an_empty_or_missing_file_is_not_upgraded() {
    let place = Place::new();
    let upgrade = || SqliteStore::upgrade(&place.config(), UpgradeMode::Run);
    assert_eq!(upgrade().unwrap(), None);
    assert!(!place.path().exists());
    fs::write(place.path(), "").unwrap();
    assert_eq!(upgrade().unwrap(), None);
    assert!(fs::read(place.path()).unwrap().is_empty());
}
