//! A store that cannot answer fails within a bounded time, and recovers.

use std::{
    fs,
    time::{Duration, Instant},
};

use petstore_domain::{
    AddError, KeyRevision, KeyStore, PetId, PetRepository, StoreError, Timestamp,
};
use rusqlite::Connection;

use super::{Place, SHORT, add, found, known_version, rex};
use crate::{
    open::open,
    schema,
    store::{SqliteSettings, SqliteStore},
};

async fn set_max_page_count(store: &SqliteStore, pages: i64) {
    let limit = move |connection: &Connection| {
        Ok(connection.pragma_update(None, "max_page_count", pages)?)
    };
    store.writer().unwrap().write(limit).await.unwrap();
}

#[tokio::test]
async fn a_write_fails_as_unavailable_while_the_lock_is_held() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let version = known_version(&store).await;
    let before = store.activity();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();

    let began = Instant::now();
    let refusal = PetRepository::add(&store, rex(), None).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(2));
    assert!(matches!(refusal, AddError::Store(StoreError::Unavailable(_))));
    assert!(refusal.to_string().ends_with("database is locked"), "{refusal}");
    assert!(store.purge_expired(Timestamp(0), 1).await.is_err());
    assert!(store.save(KeyRevision(0), vec![], vec![]).await.is_err());
    assert!(found(&store, PetId(1)).await, "the animal was not found while the lock was held");
    assert_eq!(known_version(&store).await, version);
    assert_eq!(store.activity(), before, "a commit or a waiting write was counted");

    raw.execute_batch("ROLLBACK").unwrap();
    assert_eq!(add(&store).await.id, PetId(2));
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
    assert!(PetRepository::add(&store, rex(), None).await.is_err());

    set_max_page_count(&store, 1_000_000).await;
    assert_eq!(add(&store).await.id, PetId(added + 1));
    assert_eq!(place.count(), added + 1);
}

#[tokio::test]
async fn an_early_end_of_a_transaction_does_not_stop_the_writer() {
    let place = Place::new();
    let store = place.open();
    let end = |connection: &Connection| Ok(connection.execute_batch("COMMIT")?);
    let before = store.activity();
    assert!(store.writer().unwrap().write(end).await.is_err());
    assert_eq!(store.activity(), before, "a failed commit was counted");
    add(&store).await;
    let after = store.activity();
    assert_eq!((after.commits, after.writes), (before.commits + 1, before.writes + 1));
}

#[tokio::test]
async fn a_read_that_tries_to_write_fails_and_later_reads_succeed() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let failing = store
        .readers
        .read::<()>(|connection| Ok(connection.execute_batch("DELETE FROM pet")?))
        .await;
    let message = failing.unwrap_err().to_string();
    assert!(message.contains("readonly"), "another error than for a write of a reader: {message}");
    assert!(found(&store, PetId(1)).await);
}

#[tokio::test]
async fn connections_open_again_once_a_missing_file_is_back() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let away = place.path().with_extension("away");
    fs::rename(place.path(), &away).unwrap();
    // A connection that has the file open continues; a new one does not find the file.
    assert!(store.readers.shared.pool.open().is_err());
    fs::rename(&away, place.path()).unwrap();
    assert!(store.readers.shared.pool.open().is_ok());
    add(&store).await;
}

#[tokio::test]
async fn opening_a_locked_store_fails_in_a_bounded_time() {
    let place = Place::new();
    let raw = place.raw();
    raw.execute_batch("BEGIN EXCLUSIVE").unwrap(); // The file has no schema yet.
    let began = Instant::now();
    let refusal = open(&place.config(), &SqliteSettings::default(), SHORT).unwrap_err().to_string();
    assert!(began.elapsed() < Duration::from_secs(2));
    assert!(
        refusal.ends_with(
            "it is locked by another process; stop that process, or try again when it has finished"
        ),
        "{refusal}"
    );
    raw.execute_batch("ROLLBACK").unwrap();
    place.open();
}

#[tokio::test]
async fn a_store_can_be_opened_and_read_during_writes() {
    let place = Place::new();
    add(&place.open()).await;
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(found(&place.open(), PetId(1)).await);
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
}
