//! Instances that write at the same time.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use petstore_domain::Archive as _;
use petstore_testing::{Etcd, needs};
use tokio::task::JoinSet;

use crate::support::{add, open, rex, url};

const BATCHES: u32 = 10;
const WRITERS: u32 = 8;

/// Without the pause of a winner (`core.rs`), large transactions would lose most comparisons, because they take longer.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn batches_are_written_beside_an_instance_that_adds_all_the_time() {
    let etcd = Etcd::start(1).unwrap();
    let url = url(&etcd) + "?call_timeout=30s";
    let (busy, other) = (Arc::new(open(&url).await), open(&url).await);
    let added = Arc::new(AtomicU32::new(0));
    let mut writers = JoinSet::new();
    for (busy, added) in iter::repeat_n((busy, added.clone()), WRITERS as usize) {
        writers.spawn(async move {
            loop {
                add(&busy).await;
                added.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = added.load(Ordering::Relaxed);
    for _ in 0..BATCHES {
        other.add_new(vec![rex(); other.max_batch()], None).await.unwrap();
    }
    let beside = added.load(Ordering::Relaxed) - before;
    drop(writers);
    // An instance that adds all the time commits a few groups of up to `WRITERS` additions between two batches.
    let expected = BATCHES..20 * WRITERS * BATCHES;
    assert!(expected.contains(&beside), "{beside} additions beside {BATCHES} batches");
}
