//! The standing read is there when it helps, and in nobody's way.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, PetId, PetRepository, StoreError};
use rusqlite::Connection;
use tokio::time::{sleep, timeout};

use super::{Place, add, hold};
use crate::{
    SqliteStore,
    standing_read::{LONG_LOG, TERM},
    writer::Session,
};

/// Long enough for the slowest machine.
const PATIENCE: Duration = Duration::from_secs(30);
const ANIMALS: usize = 5000;
const COMMITS: u32 = 20;
/// Rewrites every animal: hundreds of pages.
const REWRITE: &str = "UPDATE pet SET name = hex(randomblob(50))";

fn state(store: &SqliteStore) -> Option<CatalogueVersion> {
    store.readers.stand().state()
}

/// Reads until a read stands in the state of now; `false` if none does within `patience`.
async fn read_until_it_stands(store: &SqliteStore, patience: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < patience {
        let now = store.find(PetId(1)).await.unwrap().unwrap().version;
        if state(store) == now {
            return true;
        }
        sleep(TERM / 10).await;
    }
    false
}

/// The length of the log, in frames.
fn log(connection: &Connection) -> i64 {
    connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).unwrap()
}

#[tokio::test]
async fn it_stands_while_somebody_reads_and_hides_nothing() {
    let place = Place::new();
    let store = place.open();
    let pet = add(&store).await;
    assert_eq!(state(&store), None, "nobody has read");
    assert!(read_until_it_stands(&store, PATIENCE).await);

    let raw = place.raw();
    for name in ["Bello", "Waldi"] {
        raw.execute("UPDATE pet SET name = ?1", [name]).unwrap();
        let pet = store.find(pet.id).await.unwrap().unwrap().value;
        assert_eq!(pet.name.as_str(), name, "what others have written shows at once");
    }
    assert!(read_until_it_stands(&store, PATIENCE).await);
    let ended = async {
        while state(&store).is_some() {
            sleep(TERM / 10).await;
        }
    };
    assert!(timeout(PATIENCE, ended).await.is_ok(), "nobody reads any more");

    assert!(read_until_it_stands(&store, PATIENCE).await);
    drop(store);
    // Possible for the only connection alone.
    let mode: String = raw.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
}

#[tokio::test]
async fn after_the_end_it_does_not_begin_again() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    assert!(read_until_it_stands(&store, PATIENCE).await);
    store.find(PetId(1)).await.unwrap();
    let stand = Arc::clone(store.readers.stand());
    drop(store);
    stand.resume(); // As a writer does that finishes what waited.
    assert_eq!(stand.state(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_gives_way_to_a_write_as_long_as_that_lasts() {
    let place = Place::new();
    let store = Arc::new(place.open());
    add(&store).await;
    assert!(read_until_it_stands(&store, PATIENCE).await);
    let release = hold(&store).await;
    assert_eq!(state(&store), None);
    assert!(!read_until_it_stands(&store, 5 * TERM).await);
    drop(release);
    assert!(read_until_it_stands(&store, PATIENCE).await);
}

#[tokio::test]
async fn it_stands_between_the_writes_of_its_own_process() {
    let place = Place::new();
    let store = place.open();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE);
        // More than one in each term.
        let pet = add(&store).await;
        sleep(TERM / 10).await;
        if state(&store) == store.find(pet.id).await.unwrap().unwrap().version {
            break;
        }
    }
}

/// The worst that others can do: each of their commits finds the read standing.
#[tokio::test]
async fn the_log_stays_short_while_others_write_now_and_then() {
    let place = Place::new();
    let store = place.open();
    let fill = |session: &Session<'_>| {
        for _ in 0..ANIMALS {
            let sql = "INSERT INTO pet (name, category_id, status) VALUES ('x', 1, 'sold')";
            session.execute(sql, [])?;
        }
        Ok(())
    };
    store.writer.write::<(), StoreError>(fill).await.unwrap();
    let raw = place.raw();
    let (mut longest, mut written, mut before, mut found_standing) = (0, 0, log(&raw), 0);
    for _ in 0..COMMITS {
        found_standing += u32::from(read_until_it_stands(&store, 20 * TERM).await);
        raw.execute_batch(REWRITE).unwrap();
        let now = log(&raw);
        written += if now > before { now - before } else { now };
        (before, longest) = (now, longest.max(now));
    }
    assert!(written > 4 * LONG_LOG, "only {written} frames were written");
    assert!(found_standing > COMMITS / 2, "the read stood only {found_standing} times");
    assert!(longest < 3 * LONG_LOG, "the log had {longest} frames");
}
