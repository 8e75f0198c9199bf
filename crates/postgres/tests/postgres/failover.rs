//! A standby that is promoted after the primary is killed, and commits whose wait for the standby is canceled.

use std::{
    error::Error as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{Added, PetId, PetRepository};
use petstore_testing::{Cluster, Durability, needs};

use crate::{
    restarts::{nothing_is_lost, start_load},
    support::{RECOVERY, add, all, grows_by, new_pet, open, recovers, request},
};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_is_found_and_has_every_acknowledged_animal() {
    let primary = Cluster::start(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    let both = |first: &Cluster, second: &Cluster| {
        let (first, second) = (first.port(), second.port());
        format!("postgres://petstore:secret@127.0.0.1:{first},127.0.0.1:{second}/postgres")
    };
    // A standby that is named first is skipped.
    add(&open(&both(&standby, &primary)).await, "0-0").await;
    let store = Arc::new(open(&both(&primary, &standby)).await);
    let stop = Arc::new(AtomicBool::new(false));
    let workers = start_load(&store, &stop);
    grows_by(&store, 200).await;
    primary.kill9().unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    standby.promote().unwrap();
    let promoted = Instant::now();
    recovers(|| store.find(PetId(1))).await;
    recovers(|| PetRepository::add(&*store, new_pet("99-1"), None)).await;
    assert!(promoted.elapsed() < RECOVERY);
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged = workers.join_all().await.concat();
    assert!(acknowledged.len() > 50, "only {} animals were acknowledged", acknowledged.len());
    nothing_is_lost(&store, &acknowledged).await;
}

/// Waits until the server waits for its standby, and cancels that wait, as an operator might.
pub(crate) fn cancel_wait(primary: &Cluster) {
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    primary.wait_for(&format!("SELECT count(*) {waiting}"), "1").unwrap();
    primary.sql(&format!("SELECT pg_cancel_backend(pid) {waiting}")).unwrap();
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_the_standby_is_not_acknowledged() {
    let primary = Cluster::start(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    let store = Arc::new(open(&format!("{}?call_timeout=30s", primary.url("postgres"))).await);
    add(&store, "Rex").await;
    standby.stop().unwrap();
    let start = |request| {
        let store = store.clone();
        tokio::spawn(async move { PetRepository::add(&*store, new_pet("Bello"), request).await })
    };

    let without_key = start(None);
    cancel_wait(&primary);
    let refused = without_key.await.unwrap().unwrap_err();
    let why = refused.source().unwrap().to_string();
    assert!(why.contains("did not wait for its standby"), "{why}");

    let with_key = start(Some(request("k", &new_pet("Bello"))));
    cancel_wait(&primary);
    standby.resume().unwrap();
    let answer = with_key.await.unwrap().unwrap();
    assert!(matches!(answer, Added::Replayed(_)), "{answer:?}");
    assert_eq!(all(&store).await.len(), 3);
}
