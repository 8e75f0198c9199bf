//! A primary that dies, and a standby that takes over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{PetId, PetRepository};
use petstore_testing::{Durability, cluster_or_skip};

use crate::{
    restarts::{nothing_is_lost, start_load},
    support::{RECOVERY, add, grows_by, new_pet, open, recovers},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_is_found_with_all_that_was_acknowledged() {
    let test = "a_promoted_standby_is_found_with_all_that_was_acknowledged";
    let Some(primary) = cluster_or_skip(test, Durability::Fast) else { return };
    let standby = primary.standby().unwrap();
    let both = format!(
        "postgres://petstore:secret@127.0.0.1:{},127.0.0.1:{}/postgres",
        primary.port(),
        standby.port()
    );
    let store = Arc::new(open(&both).await);
    add(&store, "0-0").await;
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
    assert!(acknowledged.len() > 50, "{} only", acknowledged.len());
    nothing_is_lost(&store, &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_did_not_wait_for_the_standby_is_not_acknowledged() {
    let test = "a_commit_that_did_not_wait_for_the_standby";
    let Some(primary) = cluster_or_skip(test, Durability::Fast) else { return };
    let standby = primary.standby().unwrap();
    // The server gives up waiting before the call does, and says "committed" with a warning.
    let url = format!("{}?statement_timeout=500ms", primary.url("postgres"));
    let store = open(&url).await;
    add(&store, "Rex").await;
    standby.stop().unwrap();
    let attempt = crate::support::attempt("k", &new_pet("Bello"));
    for attempt in [None, Some(attempt)] {
        let added = PetRepository::add(&store, new_pet("Bello"), attempt).await;
        assert!(added.is_err(), "{added:?}");
    }
}
