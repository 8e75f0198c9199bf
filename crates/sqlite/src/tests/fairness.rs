//! Processes that write to one file take turns.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use petstore_domain::StoreError;
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::{Place, add, rex};
use crate::{config::BusyTimeout, open::open, pets::rows, store::SqliteStore};

/// What each write of the busy store adds to its transaction, as a slow disk does.
const DELAY: Duration = Duration::from_millis(1);

async fn add_slowly(store: &SqliteStore) {
    let work = |connection: &Connection| {
        thread::sleep(DELAY);
        Ok(rows::insert(connection, rex())?)
    };
    store.writer.write::<_, StoreError>(work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_store_lets_every_write_of_another_one_through() {
    let place = Place::new();
    let open = || Arc::new(open(&place.config(), BusyTimeout::default()).unwrap());
    let (busy, other) = (open(), open());
    let done = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for _ in 0..64 {
        let (busy, done) = (Arc::clone(&busy), Arc::clone(&done));
        load.spawn(async move {
            while !done.load(Ordering::Relaxed) {
                add_slowly(&busy).await;
            }
        });
    }
    for _ in 0..20 {
        add(&other).await;
    }
    done.store(true, Ordering::Relaxed);
    load.join_all().await;
}
