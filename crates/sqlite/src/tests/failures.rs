//! A store that cannot answer fails within a bounded time, and recovers.

use std::{fs, time::Instant};

use petstore_domain::{AddError, PetId, PetRepository, StoreError};
use rusqlite::Connection;

use super::{Place, SHORT, add, begin, found, groups::add_group, known_version, rex};
use crate::{
    connection::WRITE_TIMEOUT,
    open::open,
    schema,
    store::{SqliteSettings, SqliteStore},
};

#[tokio::test]
async fn while_another_process_holds_the_write_lock_writes_fail_and_reads_succeed() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let version = known_version(&store).await;
    let before = store.activity();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();

    let began = Instant::now();
    let refusal = PetRepository::add(&store, rex(), None).await.unwrap_err();
    assert!((SHORT..WRITE_TIMEOUT).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert!(matches!(refusal, AddError::Store(StoreError::Unavailable(_))));
    assert!(refusal.to_string().ends_with("database is locked"), "{refusal}");
    // Queued writes wait together, not one after the other.
    let write = || begin(store.writer().unwrap().write(|_| Ok(())));
    let mut failures = Vec::new();
    for write in [(); 20].map(|()| write()) {
        failures.push(write.await.unwrap_err().to_string());
    }
    let together = "the store cannot answer: an earlier write of the group failed";
    assert!(failures.iter().any(|failure| failure == together), "{failures:?}");
    for store in [&store, &place.open()] {
        assert!(found(store, PetId(1)).await, "the animal was not found while the lock was held");
    }
    assert_eq!(known_version(&store).await, version);
    assert_eq!(store.activity(), before, "a commit or a waiting write was counted");

    raw.execute_batch("ROLLBACK").unwrap();
    assert_eq!(add(&store).await.id, PetId(2));
}

#[tokio::test]
async fn opening_a_locked_store_fails_in_a_bounded_time() {
    let place = Place::new();
    let raw = place.raw();
    raw.execute_batch("BEGIN EXCLUSIVE").unwrap(); // The file has no schema yet.
    let began = Instant::now();
    let refusal = open(&place.config(), &SqliteSettings::default(), SHORT).unwrap_err().to_string();
    assert!(began.elapsed() < WRITE_TIMEOUT);
    assert!(refusal.starts_with("it is locked by another process"), "{refusal}");
    raw.execute_batch("ROLLBACK").unwrap();
    place.open();
}

async fn set_max_page_count(store: &SqliteStore, pages: i64) {
    let limit = move |connection: &Connection| {
        Ok(connection.pragma_update(None, "max_page_count", pages)?)
    };
    store.writer().unwrap().write(limit).await.unwrap();
}

#[tokio::test]
async fn additions_to_a_full_disk_fail_and_nothing_is_lost() {
    let place = Place::new();
    let store = place.open();
    set_max_page_count(&store, 1).await; // SQLite raises a lower limit to the current size.
    let mut added = 0;
    let refusal = loop {
        match PetRepository::add(&store, rex(), None).await {
            Ok(_) => added += 1,
            Err(refusal) => break refusal,
        }
    };
    assert!(refusal.to_string().ends_with("database or disk is full"), "{refusal}");
    assert_eq!(place.count(), added);
    assert!(found(&store, PetId(added)).await);
    // Each addition of a failed group gets the error.
    for answer in add_group(&store, vec![(rex(), None); 2]).await {
        assert_eq!(answer.unwrap_err().to_string(), refusal.to_string());
    }

    set_max_page_count(&store, 1_000_000).await;
    assert_eq!(add(&store).await.id, PetId(added + 1));
    assert_eq!(place.count(), added + 1);
}

#[tokio::test]
async fn a_broken_transaction_stops_neither_the_writer_nor_reads() {
    let place = Place::new();
    let store = place.open();
    let (path, away) = (place.path(), place.path().with_extension("away"));
    let end = move |connection: &Connection| {
        fs::rename(&path, path.with_extension("away")).unwrap();
        // The writer must not open this file instead.
        fs::copy(path.with_extension("away"), &path).unwrap();
        Ok(connection.execute_batch("COMMIT")?)
    };
    assert!(store.writer().unwrap().write(end).await.is_err());
    assert_eq!(store.activity().commits, 0, "a failed commit was counted");
    assert!(PetRepository::add(&store, rex(), None).await.is_err());
    fs::rename(away, place.path()).unwrap();
    add(&store).await;
    assert_eq!((store.activity().commits, store.activity().writes), (1, 1));
    assert_eq!(place.count(), 1);
    // A failed read leaves no transaction to later reads.
    let fail = "BEGIN; SELECT count(*) FROM pet; SELECT no_such_function()";
    let failed = store.readers.read(|connection| Ok(connection.execute_batch(fail)?)).await;
    failed.unwrap_err();
    let id = add(&store).await.id;
    assert!(found(&store, id).await, "a later read does not see the animal");
}

#[tokio::test]
async fn a_file_that_is_truncated_after_it_has_grown_gets_no_write() {
    let place = Place::new();
    let store = place.open();
    let length = fs::metadata(place.path()).unwrap().len();
    let grow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO pet (name, category_id) SELECT hex(randomblob(100)), i FROM n;
         PRAGMA wal_checkpoint(TRUNCATE)";
    place.raw().execute_batch(grow).unwrap();
    add(&store).await;
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    for length in [length, length, 0] {
        file.set_len(length).unwrap();
        let refusal = PetRepository::add(&store, rex(), None).await.unwrap_err().to_string();
        let expected = "petstore.db was truncated while the store was open";
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[tokio::test]
async fn writes_into_and_reads_of_a_file_that_was_removed_meanwhile_fail() {
    for name in ["petstore.db", "petstore.db-wal"] {
        let place = Place::new();
        let store = place.open();
        assert!(!found(&store, PetId(1)).await);
        let path = place.path().with_file_name(name);
        let remove = move |_: &Connection| {
            fs::remove_file(path).unwrap();
            Ok(())
        };
        let written = store.writer().unwrap().write(remove).await;
        for refusal in [written.unwrap_err(), store.find(PetId(1)).await.unwrap_err()] {
            // A new connection makes another log, so the log may also count as replaced.
            let refusal = refusal.to_string().replace("was replaced", "was removed");
            let expected = format!("{name} was removed while the store was open");
            assert!(refusal.contains(&expected), "{refusal}");
        }
        assert!(store.readers.shared.pool.idle().is_empty(), "a connection stays open");
    }
}

/// A checkpoint in another process writes the first page before the last pages, so the file is too short for a moment.
#[tokio::test]
async fn a_file_with_unwritten_last_pages_is_accepted() {
    let place = Place::new();
    drop(place.open());
    let length = fs::metadata(place.path()).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.set_len(length - 4096).unwrap();
    assert!(!schema::is_whole(&place.path()));
    schema::check_file(&place.path()).unwrap();
    file.set_len(100).unwrap(); // The header alone.
    let refusal = open(&place.config(), &SqliteSettings::default(), SHORT).unwrap_err().to_string();
    assert!(refusal.ends_with("; restore it from a backup"), "{refusal}");
}
