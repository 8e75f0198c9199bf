//! Processes that write to the same file take turns.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Place, add, rex};
use crate::{connection::Statements, pets::rows, store::SqliteStore};

/// The number of queued writes of the busy store.
const LOAD: usize = 64;
/// The time that each write adds to its transaction, as a slow disk would.
const DELAY: Duration = Duration::from_millis(1);

/// Keeps the writer of `store` busy: each write queues the next one. Sets `failed` if a write fails.
async fn load(store: Arc<SqliteStore>, failed: Arc<AtomicBool>) {
    let permits = Arc::new(Semaphore::new(LOAD));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let (store, failed) = (Arc::clone(&store), Arc::clone(&failed));
        tokio::spawn(async move {
            let work = move |connection: &Connection| {
                drop(permit);
                thread::sleep(DELAY);
                Ok(rows::insert(&mut Statements::new(connection), &rex())?)
            };
            let added = store.writer().unwrap().write(work).await;
            failed.fetch_or(added.is_err(), Ordering::Relaxed);
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_store_delays_no_write_of_another_store_for_long() {
    let place = Place::new();
    let open = || Arc::new(SqliteStore::open(&place.config()).unwrap());
    let (busy, other) = (open(), open());
    let failed = Arc::new(AtomicBool::new(false));
    tokio::spawn(load(busy, Arc::clone(&failed)));
    for _ in 0..40 {
        add(&other).await;
    }
    assert!(!failed.load(Ordering::Relaxed), "a write of the busy store failed");
}
