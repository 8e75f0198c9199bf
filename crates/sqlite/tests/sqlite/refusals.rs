//! Files that are refused, and the messages.

use std::{fs, path::Path};

use petstore_domain::{
    Archive as _, Handover as _, KeyRevision, KeyStore as _, PetRepository, Rows, WriterRole,
};
use petstore_sqlite::SqliteStore;

use crate::support::{Place, add, all, open, rex};

/// Checks that opening `path` fails with `reason` in one line, and changes no file.
fn assert_refused(place: &Place, path: &Path, reason: &str) {
    let before = place.content();
    let refusal = open(path).unwrap_err().to_string();
    assert_eq!(refusal, format!("cannot open the store {}: {reason}", path.display()));
    assert!(place.content() == before, "the directory has changed");
}

#[test]
fn a_file_of_another_kind_is_left_untouched() {
    let reason = "it is not a petstore store but a file of another kind; \
                  it was left untouched: name another path";
    for content in ["x", "SQLite format 3", &"not a database, just text\n".repeat(100)] {
        let place = Place::new();
        fs::write(place.path(), content).unwrap();
        assert_refused(&place, &place.path(), reason);
    }
}

#[test]
fn a_database_of_another_application_is_left_untouched() {
    let reason = "it is not a petstore store but a SQLite database of another application; \
                  it was left untouched: name another path";
    for mode in ["DELETE", "WAL"] {
        for application in [0, 0x1234_5678, 0x7073_7431] {
            let place = Place::new();
            let theirs = place.raw();
            theirs
                .execute_batch(&format!(
                    "PRAGMA application_id = {application}; PRAGMA user_version = 1;
                     CREATE TABLE pet (id INTEGER PRIMARY KEY);"
                ))
                .unwrap();
            theirs.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
            // First while the application has the database open, perhaps with a log beside it, then after it has closed
            // the database.
            for id in [1, 2] {
                theirs.execute("INSERT INTO pet VALUES (?1)", [id]).unwrap();
                assert_refused(&place, &place.path(), reason);
            }
            drop(theirs);
            assert_refused(&place, &place.path(), reason);
        }
    }
}

#[test]
fn a_store_with_another_schema_version_is_left_untouched() {
    let release = env!("CARGO_PKG_VERSION");
    let older = format!(
        "its schema is version 6, older than any that petstore {release} can upgrade (version 7); it was left \
         untouched: use the petstore that made it"
    );
    let previous = format!(
        "its schema is version 9, and petstore {release} needs version 10: upgrade it with 'petstore \
         upgrade' and the same --store"
    );
    let newer = format!(
        "its schema cannot be used below version 11, and petstore {release} knows version 10; it was left \
         untouched: use petstore 2.0.0 or newer, or the copy or backup that was made before its upgrade"
    );
    let unnamed = newer.replace("petstore 2.0.0 or newer", "petstore of a newer release");
    for (change, reason) in [
        ("PRAGMA user_version = 6", older),
        ("UPDATE petstore_schema SET version = 9", previous),
        ("PRAGMA user_version = 11; DELETE FROM petstore_schema", unnamed),
        ("PRAGMA user_version = 11", newer),
    ] {
        let place = Place::new();
        drop(place.open());
        place.raw().execute_batch(change).unwrap();
        assert_refused(&place, &place.path(), &reason);
    }
}

#[test]
fn a_newer_version_in_the_log_alone_is_refused_too() {
    let place = Place::new();
    let _store = place.open();
    let newer = place.raw();
    newer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    newer.pragma_update(None, "user_version", 9999).unwrap();
    let refusal = place.try_open().unwrap_err().to_string();
    assert!(refusal.contains("its schema cannot be used below version 9999"), "{refusal}");
}

#[tokio::test]
async fn a_read_only_opening_changes_no_file() {
    for mode in ["WAL", "DELETE"] {
        let place = Place::new();
        add(&place.open()).await;
        place.raw().query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
        let before = place.content();
        let store = SqliteStore::open_read_only(&place.config()).unwrap();
        assert_eq!(all(&store).await.len(), 1);
        let refusal = PetRepository::add(&store, rex(), None).await.unwrap_err().to_string();
        assert_eq!(refusal, "the store cannot answer: the store was opened read-only");
        assert!(store.write_rows(WriterRole::Service, Rows::default()).await.is_err());
        assert!(store.save(KeyRevision(0), vec![], vec![]).await.is_err());
        let state = store.state().await.unwrap();
        assert!(store.change_state(0, state.next(state.phase.clone())).await.is_err());
        drop(store);
        assert!(place.content() == before, "{mode}");
    }
    let place = Place::new();
    let refusal = SqliteStore::open_read_only(&place.config()).unwrap_err().to_string();
    assert!(refusal.contains("petstore.db: No such file or directory"), "{refusal}");
    fs::write(place.path(), "").unwrap();
    let refusal = SqliteStore::open_read_only(&place.config()).unwrap_err().to_string();
    assert!(refusal.contains("it is not a petstore store but an empty database"), "{refusal}");
    assert!(fs::read(place.path()).unwrap().is_empty());
}

#[test]
fn a_path_that_names_no_plain_file_is_refused() {
    let place = Place::new();
    let (missing, file) = (place.directory().join("missing"), place.directory().join("file"));
    fs::write(&file, "").unwrap();
    let no_directory = format!(
        "its directory {} does not exist; create it, or name another path",
        missing.display()
    );
    let directory =
        format!("it is a directory; name a file in it, such as {}", place.path().display());
    for (path, reason) in [
        (missing.join("petstore.db").as_path(), no_directory.as_str()),
        (place.directory(), &directory),
        (&file.join("x.db"), "Not a directory (os error 20); mend that, or name another path"),
        (Path::new("/dev/null"), "it is not a plain file; mend that, or name another path"),
    ] {
        assert_refused(&place, path, reason);
    }
}
