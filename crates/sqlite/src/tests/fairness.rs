//! Processes that write to the same file take turns.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use petstore_domain::PetRepository as _;
use tokio::sync::Semaphore;

use super::{Place, add, rex};
use crate::store::SqliteStore;

/// The number of queued additions of the busy store.
const LOAD: usize = 64;

/// Keeps the writer of `store` busy: about `LOAD` additions are always in its queue. Sets `failed` if an addition
/// fails.
async fn load(store: Arc<SqliteStore>, failed: Arc<AtomicBool>) {
    let permits = Arc::new(Semaphore::new(LOAD));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let (store, failed) = (Arc::clone(&store), Arc::clone(&failed));
        tokio::spawn(async move {
            let added = store.add(rex(), None).await;
            drop(permit);
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
    assert!(!failed.load(Ordering::Relaxed), "an addition of the busy store failed");
}
