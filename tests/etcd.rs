//! The binary on three etcd nodes, which fail one by one and all at once, and on one node whose data are restored.
//!
//! Each acknowledged animal is there once, and no read goes back in time. The tests that assert the time limits in
//! `failover/times.rs` need a quiet machine.

mod disk;
mod leader;
mod maintenance;
mod minority;
mod restart;
mod restored;
mod trial;

use petstore_testing::{Etcd, Network};

use crate::support::store::Store;

pub(crate) const NODES: usize = 3;

/// Starts three nodes, as the servers of `network` if there is one.
pub(crate) fn nodes(network: Option<&Network>) -> Etcd {
    Etcd::start_in(NODES, network).unwrap()
}

/// Returns the store with this key prefix. Its URL has the addresses of all nodes.
pub(crate) fn store(etcd: &Etcd, prefix: &str) -> Store {
    Store::at(&format!("etcd://{}/{prefix}", etcd.endpoints()))
}
