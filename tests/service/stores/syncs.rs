//! Acknowledged animals are on the disk. The tests count the synchronizations.

use std::path::{Path, PathBuf};

use crate::support::{
    catalogue::{add, pet},
    command::{finish, petstore},
    disk::Disk,
    server::Launch,
    store::Store,
};

const CREATES: usize = 10;

/// Returns how often the file or directory at `path` was synchronized.
fn syncs(disk: &Disk, path: &Path) -> usize {
    disk.syncs().iter().filter(|synced| *synced == path).count()
}

/// Adds animals one after the other, and returns how often the write-ahead log was synchronized.
fn syncs_of_creates(disk: &Disk, store: &Store) -> usize {
    let server = Launch::on(store).disk(disk).start();
    add(&server.client(), &pet("first"));
    let log = store.folder().join("petstore.db-wal");
    let before = syncs(disk, &log);
    for _ in 0..CREATES {
        add(&server.client(), &pet("one more"));
    }
    syncs(disk, &log) - before
}

#[test]
fn a_create_is_acknowledged_after_the_log_is_on_the_disk_and_the_file_in_its_directory() {
    let disk = Disk::new();
    let store = Store::sqlite();
    assert!(syncs_of_creates(&disk, &store) >= CREATES, "{:?}", disk.syncs());
    assert!(syncs(&disk, &store.folder()) > 0, "{:?}", disk.syncs());
}

#[test]
fn a_create_waits_for_no_disk_with_synchronous_normal() {
    let disk = Disk::new();
    let mut store = Store::sqlite();
    store.url += "?synchronous=normal";
    assert!(syncs_of_creates(&disk, &store) < CREATES, "{:?}", disk.syncs());
}

#[test]
fn an_import_and_a_copy_end_when_the_disk_has_them() {
    let disk = Disk::new();
    let mut store = Store::sqlite();
    store.url += "?synchronous=normal";
    let log = store.folder().join("petstore.db-wal");
    // The store exists, so opening it synchronizes nothing. Another process keeps it open, because the last process to
    // close a store also synchronizes changes that no commit has synchronized.
    let server = Launch::on(&store).start();
    store.new_key("web");
    let import = petstore(&["import", "-", "--store", &store.url]).fed().disk(&disk);
    let line = "{\"name\":\"Rex\",\"categoryId\":1}\n";
    assert_eq!(finish(import.spawn(), line).code, Some(0));
    assert!(syncs(&disk, &log) > 0, "{:?}", disk.syncs());
    drop(server);

    let mut other = Store::sqlite();
    other.url += "?synchronous=normal";
    let _other_server = Launch::on(&other).start();
    let copy = petstore(&["store", "copy", "--from", &store.url, "--to", &other.url]).disk(&disk);
    assert_eq!(copy.finish().code, Some(0));
    let log = other.folder().join("petstore.db-wal");
    assert!(syncs(&disk, &log) > 1, "{:?}", disk.syncs());
}

#[test]
fn an_export_a_backup_and_a_restore_end_when_the_disk_has_the_file_and_its_name() {
    let disk = Disk::new();
    let store = Store::sqlite();
    store.new_key("web");
    for words in [&["export"][..], &["backup", "--to"]] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pets.ndjson");
        let file_name = file.to_str().unwrap();
        let words = [words, &[file_name, "--store", &store.url]].concat();
        assert_eq!(petstore(&words).disk(&disk).finish().code, Some(0));
        let synced = disk.syncs();
        // The file has another name until it is complete.
        assert!(synced.iter().any(|path| path.parent() == Some(folder.path())), "{synced:?}");
        assert!(synced.iter().any(|path| path == folder.path()), "{synced:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let restored = format!("sqlite:{}", folder.path().join("restored.db").display());
    let restore = petstore(&["restore", store.file().to_str().unwrap(), "--store", &restored]);
    assert_eq!(restore.disk(&disk).finish().code, Some(0));
    let synced = disk.syncs();
    assert!(synced.iter().any(|path| path == folder.path()), "{synced:?}");
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(".restored.db.") && name.ends_with(".partial")
    };
    assert!(synced.iter().any(is_copy), "{synced:?}");
}
