//! All nodes are killed at once, and come back.

use std::time::Duration;

use petstore_testing::needs;

use super::{NODES, nodes, store};
use crate::failover::outage::Outage;

#[needs(etcd, quiet)]
#[test]
fn a_restart_of_all_nodes_loses_nothing() {
    let what = "a restart of all nodes";
    let etcd = nodes(None);
    Outage {
        what,
        url: &store(&etcd, "zoo").url,
        fail: &|| (0..NODES).for_each(|node| etcd.kill(node)),
        lasts: Duration::from_secs(1),
        mend: &|| {
            (0..NODES).for_each(|node| etcd.resume(node).unwrap());
            etcd.wait_for_leader(None).unwrap();
        },
    }
    .is_survived();
}
