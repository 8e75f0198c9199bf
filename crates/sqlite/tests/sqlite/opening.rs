//! The properties of an opened store.

use std::{fs, os::unix::fs::PermissionsExt};

use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};

use crate::support::{Place, VERSION, add, all, open, rex};

#[test]
fn sqlite_is_new_enough_to_be_free_of_the_wal_reset_bug() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn a_new_store_is_for_its_owner_alone_and_has_the_application_id() {
    let place = Place::new();
    let store = place.open();
    for path in place.content().into_keys() {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let header = fs::read(place.path()).unwrap();
    assert_eq!(header[60..64], VERSION.to_be_bytes(), "the header has another schema version");
    assert_eq!(&header[68..72], b"pst0");
    assert!(store.was_created());
    drop(store);
    assert!(!place.open().was_created());
    let pragma = |name| place.raw().pragma_query_value(None, name, |row| row.get(0)).unwrap();
    let mode: String = pragma("journal_mode");
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    add(&place.open(), rex()).await;
    assert_eq!(all(&place.open()).await.len(), 1);
}

#[tokio::test]
async fn a_store_in_another_journal_mode_is_switched_to_wal() {
    let place = Place::new();
    add(&place.open(), rex()).await;
    let mode: String =
        place.raw().query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    assert_eq!(all(&place.open()).await.len(), 1);
    let mode: String = place.raw().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn every_synchronous_setting_works() {
    let place = Place::new();
    for synchronous in [Synchronous::Normal, Synchronous::Full, Synchronous::Extra] {
        let config = SqliteConfig { path: place.path(), synchronous };
        add(&SqliteStore::open(&config).unwrap(), rex()).await;
    }
    assert_eq!(all(&place.open()).await.len(), 3);
    assert_eq!(Synchronous::default(), Synchronous::Full);
}

#[tokio::test]
async fn special_names_of_sqlite_are_plain_files() {
    let place = Place::new();
    for name in [":memory:", "file:x?mode=memory", "a b%20'\"ü.db"] {
        let path = place.directory().join(name);
        add(&open(&path).unwrap(), rex()).await;
        assert!(path.is_file());
        assert_eq!(all(&open(&path).unwrap()).await.len(), 1);
    }
}

#[tokio::test]
async fn a_crash_loses_no_acknowledged_write() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..10 {
        add(&store, rex()).await;
    }
    // A crash would leave these files.
    let crashed = Place::new();
    for (path, bytes) in place.content() {
        fs::write(crashed.directory().join(path.file_name().unwrap()), bytes).unwrap();
    }
    assert_eq!(all(&crashed.open()).await, all(&store).await);
}
