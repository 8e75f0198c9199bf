//! Files that are refused, and the messages.

use std::{fs, path::Path};

use rusqlite::Connection;

use petstore_domain::{Archive as _, KeyRevision, KeyStore as _, PetRepository, Rows, WriterRole};
use petstore_sqlite::SqliteStore;

use crate::support::{FIRST, Place, VERSION, add, all, open, rex};

/// Checks that opening `path` fails with `reason` in one line, and changes no file.
fn assert_refused(place: &Place, path: &Path, reason: &str) {
    let before = place.content();
    let refusal = open(path).unwrap_err().to_string();
    assert_eq!(refusal, format!("cannot open the store {}: {reason}", path.display()));
    assert!(place.content() == before, "the directory has changed");
}

const FOREIGN: &str = "it is not a petstore store but a SQLite database of another application; \
                       it was left untouched: name another path";

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
            theirs.execute("INSERT INTO pet VALUES (1)", []).unwrap();
            // First while the application has the database open, perhaps with a log beside it, then after it has closed
            // the database.
            assert_refused(&place, &place.path(), FOREIGN);
            drop(theirs);
            assert_refused(&place, &place.path(), FOREIGN);
        }
    }
}

fn too_new(oldest: i32) -> String {
    format!(
        "its schema cannot be used below version {oldest}, and petstore {} knows version {VERSION}; it \
         was left untouched: use petstore 2.0.0 or newer, or the copy or backup that was made before its upgrade",
        env!("CARGO_PKG_VERSION")
    )
}

#[test]
fn a_store_with_an_unknown_schema_version_is_left_untouched() {
    for version in [i32::MIN, -1, 0, 1, FIRST - 1, VERSION + 1, 9999] {
        let place = Place::new();
        drop(place.open());
        place.raw().pragma_update(None, "user_version", version).unwrap();
        let too_old = format!(
            "its schema is version {version}, older than any that petstore {} can upgrade (version \
             {FIRST}); it was left untouched: use the petstore that made it",
            env!("CARGO_PKG_VERSION")
        );
        let refusal = if version < FIRST { too_old } else { too_new(version) };
        assert_refused(&place, &place.path(), &refusal);
    }
}

#[test]
fn an_older_store_is_left_untouched_until_it_is_upgraded() {
    let place = Place::new();
    drop(place.open());
    place.raw().execute("UPDATE petstore_schema SET version = ?1", [VERSION - 1]).unwrap();
    let refusal = format!(
        "its schema is version {}, and petstore {} needs version {VERSION}: upgrade it with 'petstore \
         upgrade' and the same --store",
        VERSION - 1,
        env!("CARGO_PKG_VERSION")
    );
    assert_refused(&place, &place.path(), &refusal);
}

#[tokio::test]
async fn a_read_only_opening_changes_no_file() {
    for mode in ["WAL", "DELETE"] {
        let place = Place::new();
        add(&place.open(), rex()).await;
        let file = place.raw();
        file.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
        drop(file);
        let before = place.content();
        let store = SqliteStore::open_read_only(&place.config()).unwrap();
        assert_eq!(all(&store).await.len(), 1);
        assert!(PetRepository::add(&store, rex(), None).await.is_err());
        assert!(store.write_rows(WriterRole::Service, Rows::default()).await.is_err());
        assert!(store.save(KeyRevision(0), vec![], vec![]).await.is_err());
        drop(store);
        assert!(place.content() == before, "{mode}");
    }
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let refusal = SqliteStore::open_read_only(&place.config()).map(drop).unwrap_err().to_string();
    assert!(refusal.contains("it is not a petstore store but an empty database"), "{refusal}");
    assert!(fs::read(place.path()).unwrap().is_empty());
}

#[test]
fn a_newer_version_in_the_log_alone_is_refused_too() {
    let place = Place::new();
    let store = place.open();
    let newer = place.raw();
    newer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    newer.pragma_update(None, "user_version", 9999).unwrap();
    assert_eq!(fs::read(place.path()).unwrap()[60..64], VERSION.to_be_bytes());
    let refusal = place.try_open().unwrap_err().to_string();
    assert!(refusal.ends_with(&too_new(9999)), "{refusal}");
    drop(store);
}

#[test]
fn a_missing_directory_is_named_and_not_made() {
    let place = Place::new();
    let directory = place.directory().join("missing");
    assert_refused(
        &place,
        &directory.join("petstore.db"),
        &format!(
            "its directory {} does not exist; create it, or name another path",
            directory.display()
        ),
    );
}

#[test]
fn a_directory_is_no_store() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let path = elsewhere.directory();
    let example = path.join("petstore.db");
    assert_refused(
        &place,
        path,
        &format!("it is a directory; name a file in it, such as {}", example.display()),
    );
}

#[test]
fn a_path_through_a_file_or_to_a_device_is_refused() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    assert_refused(
        &place,
        &place.path().join("x.db"),
        "Not a directory (os error 20); mend that, or name another path",
    );
    let device = Path::new("/dev/null");
    assert_refused(&place, device, "it is not a plain file; mend that, or name another path");
}

#[test]
fn a_header_without_its_pages_is_refused() {
    let place = Place::new();
    drop(place.open());
    let mut bytes = fs::read(place.path()).unwrap();
    bytes.truncate(100); // The file has the header of a petstore store, but no pages follow.
    fs::write(place.path(), bytes).unwrap();
    let refusal = place.try_open().unwrap_err().to_string();
    assert!(refusal.ends_with("; restore it from a backup"), "{refusal}");
}

#[test]
fn a_refused_file_can_still_be_used_by_its_owner() {
    let place = Place::new();
    let theirs = Connection::open(place.path()).unwrap();
    theirs.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    assert!(place.try_open().is_err());
    theirs.execute("INSERT INTO t VALUES (2)", []).unwrap();
    let rows: i64 = place.raw().query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 2);
}
