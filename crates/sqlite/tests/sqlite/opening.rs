//! The properties of an opened store.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::{Place, VERSION, add, all, open};

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
}

#[tokio::test]
async fn an_empty_file_and_names_with_special_characters_become_stores() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    for name in ["petstore.db", ":memory:", "file:x?mode=memory", "a b%20'\"ü.db"] {
        let path = place.directory().join(name);
        add(&open(&path).unwrap()).await;
        assert!(path.is_file(), "{name}");
        assert_eq!(all(&open(&path).unwrap()).await.len(), 1, "{name}");
    }
}
