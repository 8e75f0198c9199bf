//! Nodes that take fewer operations in a transaction than etcd's default.

use petstore_domain::{Archive as _, ArchiveError, StoreError};
use petstore_testing::{Etcd, etcd_or_skip, needs};

use crate::support::{add, open, refusal, rex, url};

fn restart(etcd: &Etcd, max_txn_ops: usize) {
    etcd.kill(0);
    etcd.resume_with(0, &[format!("--max-txn-ops={max_txn_ops}")]).unwrap();
    etcd.wait_for_leader(None).unwrap();
}

#[needs(etcd)]
#[tokio::test]
async fn a_node_must_take_as_many_operations_as_by_default() {
    let etcd = etcd_or_skip("a_node_must_take_as_many", 1).unwrap();
    let url = url(&etcd) + "?call_timeout=30s";
    restart(&etcd, 128);
    let store = open(&url).await;
    let most = store.max_batch();
    assert_eq!(store.add_new(vec![rex(); most], None).await.unwrap(), most as u64);

    let says = "start each node with --max-txn-ops=128, which is its default";
    restart(&etcd, 127);
    let refused = refusal(&url).await;
    assert!(refused.contains(says), "{refused}");
    restart(&etcd, 64);
    add(&store).await;
    let failed = store.add_new(vec![rex(); most], None).await.unwrap_err();
    assert!(matches!(failed, ArchiveError::Store(StoreError::Unavailable(_))), "{failed}");
    assert!(failed.to_string().contains(says), "{failed}");
}
