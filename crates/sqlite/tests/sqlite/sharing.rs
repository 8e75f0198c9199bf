//! Several stores and processes on one file.

use std::{
    collections::HashMap,
    fs,
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    pin::pin,
    process::Command,
    sync::Arc,
    task::{Context, Waker},
};

use petstore_domain::{
    Archive, KeyChangeError, KeyChanges, KeyStore as _, PetRepository, Rows, SaveOutcome,
    StoreError, Timestamp, WriterRole, add_key, load_keys,
};
use petstore_sqlite::SqliteStore;
use petstore_storage::UpgradeMode;
use petstore_testing::EndOnDrop;

use crate::support::{Place, add, all, new_key, open, page, query, rex, version};

#[tokio::test]
async fn stores_on_one_file_see_each_other_s_writes_at_once() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    for _ in 0..10 {
        let pet = add(&one, rex()).await;
        assert_eq!(two.find(pet.id).await.unwrap().value, Some(pet));
        add(&two, rex()).await;
    }
    assert_eq!(all(&one).await, all(&two).await);
    let key = add_key(&one, new_key(1, "web")).await.unwrap();
    assert_eq!(load_keys(&two).await.unwrap().keys, [key]);
}

#[test]
fn many_threads_can_open_a_new_path_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        let stores = place.open_by_four_at_once();
        let versions = stores.each_ref().map(version);
        assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
    }
}

#[tokio::test]
async fn reads_do_not_wait_for_another_process_s_write() {
    let place = Place::new();
    let store = place.open();
    let pet = add(&store, rex()).await;
    let raw = place.raw();
    raw.execute_batch("BEGIN EXCLUSIVE; UPDATE pet SET name = 'Bello'").unwrap();
    assert_eq!(store.find(pet.id).await.unwrap().value.as_ref(), Some(&pet));
    assert_eq!(page(&store, query(20, None)).await.pets, [pet]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_several_concurrent_keys_with_one_name_is_stored() {
    let place = Place::new();
    let stores = [Arc::new(place.open()), Arc::new(place.open())];
    let tasks = (0..16).map(|seed: u8| {
        let store = Arc::clone(&stores[usize::from(seed % 2)]);
        tokio::spawn(async move { add_key(&*store, new_key(seed, "web")).await })
    });
    let mut added = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Ok(_) => added += 1,
            Err(KeyChangeError::NameTaken) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((added, load_keys(&*stores[0]).await.unwrap().keys.len()), (1, 1));
}

#[tokio::test]
async fn a_key_with_the_digest_of_another_key_is_refused_and_other_writes_succeed() {
    let place = Place::new();
    let store = place.open();
    let add = |seed, name| add_key(&store, new_key(seed, name));
    add(1, "a").await.unwrap();
    let (refused, added) = tokio::join!(add(1, "b"), add(2, "c"));
    assert!(matches!(refused, Err(KeyChangeError::Store(StoreError::Refused(_)))), "{refused:?}");
    added.unwrap();
    assert_eq!(load_keys(&store).await.unwrap().keys.len(), 2);
}

#[tokio::test]
async fn closing_drops_abandoned_writes_and_leaves_one_file() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..100 {
        let mut future = pin!(PetRepository::add(&store, rex(), None));
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    drop(store);
    assert_eq!(place.content().into_keys().collect::<Vec<_>>(), [place.path()]);
    // The writer may have started some writes.
    assert!(all(&place.open()).await.len() < 100);
}

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

    let snapshot = store.snapshot().await.unwrap();
    drop(place.open());
    drop(store);
    assert!(handles(&place) > 0, "the snapshot was closed with its store");
    drop(snapshot);
    assert_eq!(handles(&place), 0);
}

/// The environment variable with the path of the store, for child processes.
const CHILD_PATH: &str = "PETSTORE_TEST_CHILD_PATH";
const PER_CHILD: usize = 25;

#[tokio::test]
async fn processes_share_a_store_that_they_create_at_once() {
    let place = Place::new();
    let children = [(); 4].map(|()| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "sharing::in_a_child_process"]).env(CHILD_PATH, place.path());
        EndOnDrop::new(child.spawn().unwrap())
    });
    for mut child in children {
        assert!(child.exit().unwrap().success());
    }
    let pets = all(&place.open()).await;
    assert_eq!(pets.len(), 4 * PER_CHILD);
    assert!(pets.iter().map(|pet| pet.id.0).eq(1..=100));
}

/// Does nothing unless it runs in a child process of the test above.
#[tokio::test]
async fn in_a_child_process() {
    let Some(path) = std::env::var_os(CHILD_PATH) else { return };
    let store = open(path.as_ref()).unwrap();
    for _ in 0..PER_CHILD {
        add(&store, rex()).await;
    }
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
    raw.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO pet (name, category_id) SELECT hex(randomblob(100)), i FROM n;
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    add(&staying, rex()).await;
    raw.execute_batch("DELETE FROM pet; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    add(&staying, rex()).await;
    drop(raw);
    assert_eq!(locks(), held, "after the file became shorter");
    drop(staying);
    assert_eq!(locks(), 0);
}

#[tokio::test]
async fn a_change_of_a_key_by_any_program_renews_the_revision() {
    let place = Place::new();
    let store = place.open();
    let raw = place.raw();
    let mut known = load_keys(&store).await.unwrap();
    for sql in [
        "INSERT INTO api_key (name, digest, prefix, created_at, rights) \
         VALUES ('web', randomblob(32), 'pst_1234', 1, 'full')",
        "UPDATE api_key SET expires_at = 2000000000000",
        "UPDATE api_key SET revoked_at = 7",
    ] {
        raw.execute(sql, []).unwrap();
        let now = store.load(Some(known.revision)).await.unwrap();
        known = now.unwrap_or_else(|| panic!("{sql}"));
    }
    raw.execute("UPDATE api_key SET last_used_at = 9", []).unwrap();
    assert_eq!(store.load(Some(known.revision)).await.unwrap(), None);
}

#[tokio::test]
async fn only_changed_keys_are_read_again() {
    let place = Place::new();
    let store = place.open();
    let raw = place.raw();
    let insert = "INSERT INTO api_key (name, digest, prefix, created_at, rights) \
         VALUES ('web', randomblob(32), 'pst_1234', 1, 'full')";
    for _ in 0..3 {
        raw.execute(insert, []).unwrap();
    }
    let mut known = store.load_changes(None).await.unwrap();
    assert_eq!((known.rows.len(), known.sum), (3, known.sum_of_rows()));
    for (sql, changed) in [
        (insert, &[4][..]),
        ("UPDATE api_key SET expires_at = 2000000000000 WHERE id = 2", &[2]),
        ("UPDATE api_key SET digest = randomblob(32), name = 'app' WHERE id > 2", &[3, 4]),
        ("DELETE FROM api_key WHERE id = 3", &[]),
        ("UPDATE api_key SET last_used_at = 9", &[]),
    ] {
        raw.execute(sql, []).unwrap();
        let now = store.load_changes(Some(known.mark)).await.unwrap();
        let rows = now.rows.iter().map(|(key, _)| key.as_ref().unwrap().id.0);
        assert_eq!(rows.collect::<Vec<_>>(), changed, "{sql}");
        let is_known = now.mark == known.mark;
        assert_eq!(is_known, sql.contains("last_used_at"), "{sql}");
        let all = store.load_changes(None).await.unwrap();
        assert_eq!((all.mark, all.sum), (now.mark, all.sum_of_rows()), "{sql}");
        assert!(is_known || now.sum == all.sum, "{sql}");
        known = now;
    }
}

/// Replaces rows of `known` by those of `changes`, as a service does with the keys that it remembers. Returns the sum
/// of the stamps.
fn sum_after(known: &KeyChanges, changes: &KeyChanges) -> u64 {
    let rows = known.rows.iter().chain(&changes.rows);
    let stamps: HashMap<_, _> =
        rows.map(|(key, stamp)| (key.as_ref().unwrap().id, *stamp)).collect();
    stamps.values().sum()
}

#[tokio::test]
async fn only_a_saved_key_is_read_again() {
    let place = Place::new();
    let store = place.open();
    for seed in 1..=3 {
        add_key(&store, new_key(seed, &format!("key{seed}"))).await.unwrap();
    }
    let known = store.load_changes(None).await.unwrap();
    let stored = load_keys(&store).await.unwrap();
    let mut changed = stored.keys[1].clone();
    changed.revoked_at = Some(Timestamp(7));
    let saved = store.save(stored.revision, vec![changed.clone()], Vec::new()).await.unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
    let now = store.load_changes(Some(known.mark)).await.unwrap();
    let rows: Vec<_> = now.rows.iter().map(|(key, _)| key.as_ref().unwrap()).collect();
    assert_eq!(rows, [&changed]);
    assert_eq!(sum_after(&known, &now), now.sum);
}

/// The restored store lacks a change that the process has read, and has another change.
#[tokio::test]
async fn a_process_notices_restored_keys() {
    let place = Place::new();
    let backup = place.directory().join("backup");
    let store = place.open();
    for seed in 1..=3 {
        add_key(&store, new_key(seed, &format!("key{seed}"))).await.unwrap();
    }
    drop(store);
    fs::copy(place.path(), &backup).unwrap();
    let store = place.open();
    place.raw().execute("UPDATE api_key SET revoked_at = 7 WHERE id = 2", []).unwrap();
    let known = store.load_changes(None).await.unwrap();
    drop(store);
    fs::copy(&backup, place.path()).unwrap();
    let store = place.open();
    place.raw().execute("UPDATE api_key SET revoked_at = 7 WHERE id = 3", []).unwrap();
    let now = store.load_changes(Some(known.mark)).await.unwrap();
    assert_ne!(sum_after(&known, &now), now.sum);
}
