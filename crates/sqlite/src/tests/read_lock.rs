//! The read lock is held when it helps, and harms nobody.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{PetId, PetRepository, StoreError};
use rusqlite::Connection;
use tokio::time::{sleep, timeout};

use super::{LIMIT, Place, add, block_writer};
use crate::{read_lock::LONG_LOG, store::SqliteStore, watch::INTERVAL};

const ANIMALS: usize = 5000;
const COMMITS: u32 = 20;
/// Rewrites every animal: hundreds of pages.
const REWRITE: &str = "UPDATE pet SET name = hex(randomblob(50))";

fn is_held(store: &SqliteStore) -> bool {
    store.readers.watch.write_pauses().is_held()
}

/// Reads until the read lock is held; `false` if it is not within `limit`.
async fn read_until_held(store: &SqliteStore, limit: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        store.find(PetId(1)).await.unwrap();
        if is_held(store) {
            return true;
        }
        sleep(INTERVAL / 10).await;
    }
    false
}

/// The length of the log, in frames.
fn log(connection: &Connection) -> i64 {
    connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).unwrap()
}

#[tokio::test]
async fn it_is_held_while_there_are_reads_and_hides_nothing() {
    let place = Place::new();
    let store = place.open();
    let pet = add(&store).await;
    assert!(!is_held(&store), "there was no read");
    assert!(read_until_held(&store, LIMIT).await);

    let raw = place.raw();
    for name in ["Bello", "Waldi"] {
        raw.execute("UPDATE pet SET name = ?1", [name]).unwrap();
        let pet = store.find(pet.id).await.unwrap().unwrap().value;
        assert_eq!(pet.name.as_str(), name, "what others have written shows at once");
    }
    assert!(read_until_held(&store, LIMIT).await);
    let ended = async {
        while is_held(&store) {
            sleep(INTERVAL / 10).await;
        }
    };
    assert!(timeout(LIMIT, ended).await.is_ok(), "there are no reads any more");

    assert!(read_until_held(&store, LIMIT).await);
    drop(store);
    // Possible for the only connection alone.
    let mode: String = raw.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
}

#[tokio::test]
async fn it_does_not_begin_again_after_its_store_was_closed() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    assert!(read_until_held(&store, LIMIT).await);
    store.find(PetId(1)).await.unwrap();
    let pauses = store.readers.watch.write_pauses();
    drop(store);
    pauses.begin().end(false); // As a writer does that finishes what waited.
    assert!(!pauses.is_held());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_pauses_for_as_long_as_a_write_lasts() {
    let place = Place::new();
    let store = Arc::new(place.open());
    add(&store).await;
    assert!(read_until_held(&store, LIMIT).await);
    let release = block_writer(&store).await;
    assert!(!is_held(&store));
    assert!(!read_until_held(&store, 5 * INTERVAL).await);
    drop(release);
    assert!(read_until_held(&store, LIMIT).await);
}

#[tokio::test]
async fn it_is_held_between_the_writes_of_its_own_process() {
    let place = Place::new();
    let store = place.open();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < LIMIT);
        // More than one within the age of a read lock.
        let pet = add(&store).await;
        sleep(INTERVAL / 10).await;
        store.find(pet.id).await.unwrap();
        if is_held(&store) {
            break;
        }
    }
}

/// The worst case: each commit of another process finds the read lock held.
#[tokio::test]
async fn the_log_stays_short_while_others_write_now_and_then() {
    let place = Place::new();
    let store = place.open();
    let fill = |connection: &Connection, _: &mut _| {
        for _ in 0..ANIMALS {
            let sql = "INSERT INTO pet (name, category_id, status) VALUES ('x', 1, 'sold')";
            connection.execute(sql, [])?;
        }
        Ok(())
    };
    store.writer().unwrap().write::<(), StoreError>(fill).await.unwrap();
    let raw = place.raw();
    let (mut longest, mut written, mut before, mut found_held) = (0, 0, log(&raw), 0);
    for _ in 0..COMMITS {
        found_held += u32::from(read_until_held(&store, 20 * INTERVAL).await);
        raw.execute_batch(REWRITE).unwrap();
        let now = log(&raw);
        written += if now > before { now - before } else { now };
        (before, longest) = (now, longest.max(now));
    }
    assert!(written > 4 * LONG_LOG, "only {written} frames were written");
    assert!(found_held > COMMITS / 2, "it was held only {found_held} times");
    assert!(longest < 3 * LONG_LOG, "the log had {longest} frames");
}
