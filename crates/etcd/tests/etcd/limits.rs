//! Nodes that accept fewer operations in a transaction than etcd accepts by default.

use std::sync::Arc;

use petstore_domain::{
    Added, Archive as _, ArchiveError, IdempotencyId, IdempotencyRequest, NewPet, PetId,
    PetRepository as _, PetStatus, Rows, StoreError, Timestamp, WriterRole,
};
use petstore_etcd::EtcdStore;
use petstore_testing::{Etcd, needs};

use crate::support::{open, refusal, rex, url};

const DAY: i64 = 86_400_000;

fn restart(etcd: &Etcd, max_txn_ops: usize) {
    etcd.restart_with(&[format!("--max-txn-ops={max_txn_ops}")]).unwrap();
}

/// Adds 60 animals at once, each with a status and a record. Returns how many are new.
async fn add_sixty(store: &Arc<EtcdStore>, at: i64) -> usize {
    let pet = NewPet { status: Some(PetStatus::Sold), ..rex() };
    let adding = (0..60_u128).map(|key| {
        let (store, pet) = (Arc::clone(store), pet.clone());
        let request =
            IdempotencyRequest::new(IdempotencyId(key.to_be_bytes()), &pet, Timestamp(at));
        tokio::spawn(async move { store.add(pet, Some(request)).await.unwrap() })
    });
    let mut created = 0;
    for added in adding.collect::<Vec<_>>() {
        created += usize::from(matches!(added.await.unwrap(), Added::Created(_)));
    }
    created
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_as_large_as_the_node_permits() {
    let etcd = Etcd::start(1).unwrap();
    let url = url(&etcd) + "?call_timeout=30s";
    for (turn, (ops, rows)) in (0_i64..).zip([(50, 128), (16, 28)]) {
        restart(&etcd, ops);
        let store = Arc::new(open(&url).await);
        assert_eq!(store.max_batch(), rows, "with --max-txn-ops={ops}");
        assert_eq!(add_sixty(&store, turn * 3 * DAY).await, 60);
        let first = 1_000 * (turn + 1);
        let pets = (first..).take(rows).map(|id| rex().with_id(PetId(id))).collect();
        let pets = Rows { pets, ..Rows::default() };
        assert_eq!(store.write_rows(WriterRole::Service, pets).await.unwrap(), rows as u64);
        assert_eq!(store.add_new(vec![rex(); rows], None).await.unwrap(), rows as u64);
    }
    let store = open(&url).await;
    let mut deleted = 0;
    loop {
        let purged = store.purge_expired(Timestamp(i64::MAX), 1000).await.unwrap();
        deleted += purged.deleted;
        if !purged.more {
            break;
        }
    }
    assert_eq!(deleted, 60);
    restart(&etcd, 15);
    let refusal = refusal(&url).await;
    let remedy = "--max-txn-ops=128, which is its default, or at least 16";
    assert!(refusal.contains(remedy), "{refusal}");
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn lower_limits_after_a_restart_of_the_node_fail_no_addition() {
    let etcd = Etcd::start(1).unwrap();
    let store = Arc::new(open(&(url(&etcd) + "?call_timeout=30s")).await);
    restart(&etcd, 32);
    assert_eq!(add_sixty(&store, 0).await, 60);
    assert_eq!(store.max_batch(), 128);
    restart(&etcd, 16);
    let write = async |count: i64| {
        let pets = (1000..1000 + count).map(|id| rex().with_id(PetId(id))).collect();
        store.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await
    };
    // A batch is not split, so it fails once. The next batch can be as large as `max_batch`.
    let too_many = write(100).await.unwrap_err();
    assert!(matches!(too_many, ArchiveError::Store(StoreError::Unavailable(_))), "{too_many}");
    assert!(too_many.to_string().contains("--max-txn-ops"), "{too_many}");
    assert_eq!((store.max_batch(), write(28).await.unwrap()), (28, 28));
    restart(&etcd, 2);
    let too_many = store.add(rex(), None).await.unwrap_err().to_string();
    assert!(too_many.contains("--max-txn-ops"), "{too_many}");
}
