//! Several stores on one file, and the files that a store has open.

use std::{fs, ops::ControlFlow, os::unix::fs::MetadataExt as _};

use petstore_domain::{Archive, Rows, WriterRole};
use petstore_sqlite::SqliteStore;
use petstore_storage::UpgradeMode;

use crate::support::{Place, add};

/// Returns the number of open descriptors of this process for the files of a store.
#[cfg(target_os = "linux")]
fn handles(place: &Place) -> usize {
    let handles = fs::read_dir("/proc/self/fd").unwrap();
    let targets = handles.filter_map(|handle| fs::read_link(handle.unwrap().path()).ok());
    targets.filter(|target| target.starts_with(place.directory())).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn taking_a_snapshot_and_writing_rows_leave_no_file_open() {
    let place = Place::new();
    let store = place.open();
    let mut counts = Vec::new();
    for _ in 0..50 {
        store.snapshot().await.unwrap();
        store.write_rows(WriterRole::Service, Rows::default()).await.unwrap();
        counts.push(handles(&place));
    }
    // SQLite keeps a descriptor that it cannot close yet, and reuses it for the next connection.
    let most = counts[..10].iter().max();
    assert!(counts.last() <= most, "{counts:?}");

    let mut snapshot = store.snapshot().await.unwrap();
    drop(place.open());
    drop(store);
    assert_eq!(snapshot.counts().await.unwrap().pets, 0, "the snapshot ended with its store");
    drop(snapshot);
    assert_eq!(handles(&place), 0);
}

/// Closing any descriptor of a file releases all locks of the process on it (POSIX). Another process could then remove
/// the write-ahead log of an open store.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn opening_a_store_again_does_not_release_its_locks() {
    let place = Place::new();
    let staying = place.open();
    let inode = fs::metadata(place.path()).unwrap().ino();
    // The kernel's table is not read atomically: while other processes lock and unlock, a line may be missing or
    // doubled. So the median of many readings is used.
    let locks = || {
        let mut counts = [(); 51].map(|()| {
            let table = fs::read_to_string("/proc/locks").unwrap();
            table.lines().filter(|line| line.contains(&format!(":{inode} "))).count()
        });
        counts.sort_unstable();
        counts[25]
    };
    let held = locks();
    assert!(held > 0, "an open store holds no lock on its file");
    let copy = place.directory().join("copy.db");
    fs::write(&copy, "").unwrap();
    drop(place.open());
    assert_eq!(locks(), held, "after another store was opened and closed");
    drop(SqliteStore::open_read_only(&place.config()).unwrap());
    assert_eq!(locks(), held, "after a read-only opening");
    SqliteStore::back_up(&place.config(), &copy, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(locks(), held, "after a backup");
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run] {
        SqliteStore::upgrade(&place.config(), mode).unwrap();
        assert_eq!(locks(), held, "after a check for an upgrade");
    }
    staying.inspect().unwrap();
    staying.snapshot().await.unwrap();
    assert_eq!(locks(), held, "after an inspection");
    // The store checks a file that has become shorter, and finds it whole.
    let raw = place.raw();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO pet (name, category_id) SELECT hex(randomblob(100)), i FROM n";
    for change in [fill, "DELETE FROM pet; VACUUM"] {
        raw.execute_batch(&format!("{change}; PRAGMA wal_checkpoint(TRUNCATE)")).unwrap();
        add(&staying).await;
    }
    drop(raw);
    assert_eq!(locks(), held, "after the file became shorter");
    drop(staying);
    assert_eq!(locks(), 0);
}
