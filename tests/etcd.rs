//! The real binary on three nodes of etcd, which fail one after the other, and all at once.
//!
//! What was acknowledged is there once, no read goes back, and nothing but the bounds in `failover/times.rs`
//! depends on how fast the machine is.

mod disk;
mod leader;
mod maintenance;
mod minority;
mod restart;
mod restored;
mod trial;

use petstore_testing::{Etcd, Network, or_skip_without};

use crate::support::store::Store;

pub(crate) const NODES: usize = 3;

/// Three nodes for the test `test`, as the servers of `network` if there is one.
pub(crate) fn nodes(test: &str, network: Option<&Network>) -> Option<Etcd> {
    or_skip_without("etcd", test, Etcd::start_in(NODES, network))
}

/// The store with this prefix, by the addresses of all nodes.
pub(crate) fn store(etcd: &Etcd, prefix: &str) -> Store {
    Store::at(&format!("etcd://{}/{prefix}", etcd.endpoints()))
}
