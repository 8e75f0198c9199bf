//! Instances that write at the same time, and a history that is compacted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use petstore_domain::{Archive as _, StoreError};
use petstore_testing::{Etcd, needs};

use crate::support::{add, open, revision, rex, url};

/// Without the pause of a winner (`core.rs`), large transactions would lose every comparison, because they take longer.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_written_beside_an_instance_that_adds_all_the_time() {
    let etcd = Etcd::start(1).unwrap();
    let url = url(&etcd) + "?call_timeout=30s";
    let (busy, other) = (Arc::new(open(&url).await), open(&url).await);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (busy, stop) = (Arc::clone(&busy), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut added = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    add(&busy).await;
                    added += 1;
                }
                added
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..20 {
        let new_pets = vec![rex(); other.max_batch()];
        other.add_new(new_pets, None).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let mut added = 0;
    for writer in writers {
        added += writer.await.unwrap();
    }
    assert!(added > 20, "only {added} additions beside 20 batches");
    let counts = other.snapshot().await.unwrap().counts().await.unwrap();
    assert_eq!(counts.pets, u64::from(added) + 20 * other.max_batch() as u64);
}

#[needs(etcd)]
#[tokio::test]
async fn the_error_for_a_compacted_snapshot_names_the_compaction() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    add(&store).await;
    let mut snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.pets(None, 9).await.unwrap().len(), 1);
    for _ in 0..3 {
        add(&store).await;
    }
    let revision = revision(&etcd);
    etcd.post(0, "/v3/kv/compaction", &format!(r#"{{"revision":{revision}}}"#)).unwrap();
    let refusal = snapshot.pets(None, 9).await.unwrap_err();
    assert!(matches!(refusal, StoreError::Unavailable(_)));
    assert!(
        refusal.to_string().contains("etcd has compacted the snapshot away: start again"),
        "{refusal}"
    );
    assert_eq!(store.snapshot().await.unwrap().pets(None, 9).await.unwrap().len(), 4);
}
