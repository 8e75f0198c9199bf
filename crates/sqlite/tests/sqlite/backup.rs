//! A backup is one snapshot of the store, also while the store is written to.

use std::{fs::File, ops::ControlFlow, path::PathBuf};

use petstore_sqlite::{BackupError, SqliteConfig, SqliteStore, Synchronous};
use rusqlite::Connection;

use crate::support::{Place, add, rex};

/// The number of animals in the store. A backup copies them in more than two steps.
const ANIMALS: i64 = 100_000;
/// An upper limit for the steps of a backup of [`ANIMALS`] animals.
const MAX_STEPS: i64 = 200;

fn filled(place: &Place) -> SqliteStore {
    let store = place.open();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO pet (name, category_id, status) SELECT 'Rex', i, 'available' FROM n";
    place.raw().execute(sql, [ANIMALS]).unwrap();
    store
}

fn empty_file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("copy.db");
    File::create(&path).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_during_a_backup_do_not_wait_and_are_not_in_the_copy() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let store = filled(&place);
    let path = empty_file(&folder);
    let (runtime, mut steps, mut dones) = (tokio::runtime::Handle::current(), 0, Vec::new());
    tokio::task::block_in_place(|| {
        let mut watch = |done: u64, total: u64| {
            // Adds an animal between two steps, while the backup holds its read transaction.
            runtime.block_on(add(&store, rex()));
            steps += 1;
            dones.push((done, total));
            // A backup that restarts after each addition would never end.
            if steps < MAX_STEPS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        SqliteStore::back_up(&place.config(), &path, &mut watch).unwrap();
    });
    assert!(steps > 2, "{steps}");
    assert!(dones.is_sorted() && dones.iter().all(|(_, total)| *total == dones[0].1), "{dones:?}");
    assert_eq!(dones.last().map(|(done, total)| done == total), Some(true));

    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the copy has companions");
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count(&Connection::open(&path).unwrap()), ANIMALS);
    assert_eq!(count(&place.raw()), ANIMALS + steps);
    let config = SqliteConfig { path, synchronous: Synchronous::Full };
    let copy = SqliteStore::open(&config).unwrap();
    assert!(!copy.was_created());
    add(&copy, rex()).await;
}

#[tokio::test]
async fn a_backup_is_canceled_between_two_steps() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let store = filled(&place);
    let path = empty_file(&folder);
    let mut steps = 0;
    let canceled = SqliteStore::back_up(&place.config(), &path, &mut |_, _| {
        steps += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(canceled, Err(BackupError::Canceled)), "{canceled:?}");
    assert_eq!(steps, 1);
    add(&store, rex()).await;
}

#[tokio::test]
async fn a_backup_to_a_file_that_is_no_database_fails() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    drop(place.open());
    let path = empty_file(&folder);
    std::fs::write(&path, "mine".repeat(2000)).unwrap();
    let refused =
        SqliteStore::back_up(&place.config(), &path, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(BackupError::Sqlite(_))), "{refused:?}");
}
