//! A backup is one snapshot of the store, also while the store is written to.

use std::{
    fs::{self, File},
    ops::ControlFlow,
};

use petstore_sqlite::{BackupError, SqliteStore};
use rusqlite::Connection;
use tokio::{runtime::Handle, task::block_in_place};

use crate::support::{Place, add};

/// The number of animals in the store. A backup copies them in more than two steps.
const ANIMALS: i64 = 12_000;
/// An upper limit for the steps of a backup of [`ANIMALS`] animals.
const MAX_STEPS: i64 = 200;

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_can_be_canceled_and_writes_during_it_do_not_wait_and_are_not_in_the_copy() {
    let (place, target) = (Place::new(), Place::new());
    let store = place.open();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO pet (name, category_id) SELECT printf('%.250c', 'x'), i FROM n";
    place.raw().execute(sql, [ANIMALS]).unwrap();
    let (runtime, mut steps, mut dones) = (Handle::current(), 0, Vec::new());
    File::create(target.path()).unwrap();
    let canceled = SqliteStore::back_up(&place.config(), &target.path(), &mut |_, _| {
        steps += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(canceled, Err(BackupError::Canceled)), "{canceled:?}");
    assert_eq!(std::mem::take(&mut steps), 1);
    File::create(target.path()).unwrap();
    block_in_place(|| {
        let mut watch = |done: u64, total: u64| {
            // Adds an animal between two steps, while the backup holds its read transaction.
            runtime.block_on(add(&store));
            steps += 1;
            dones.push((done, total));
            // A backup that restarts after each addition would never end.
            if steps < MAX_STEPS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        SqliteStore::back_up(&place.config(), &target.path(), &mut watch).unwrap();
    });
    assert!(steps > 2, "{steps}");
    assert!(dones.is_sorted() && dones.iter().all(|(_, total)| *total == dones[0].1), "{dones:?}");
    assert_eq!(dones.last().map(|(done, total)| done == total), Some(true));

    let files = fs::read_dir(target.directory()).unwrap().count();
    assert_eq!(files, 1, "the copy has companions");
    let has_log = || fs::read(target.path()).unwrap()[18..20] == [2, 2];
    assert!(!has_log(), "a reader would add a write-ahead log to the copy");
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count(&target.raw()), ANIMALS);
    assert_eq!(count(&place.raw()), ANIMALS + steps);
    let copy = target.open();
    add(&copy).await;
    assert!(has_log(), "the copy is served without a write-ahead log");
}
