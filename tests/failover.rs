//! PostgreSQL fails under load, is not there at the start, or many instances start at once: the real binary, real servers.
//!
//! The tests that hold the bounds in `times.rs` need a quiet machine. They print what they measure.

mod cluster;
pub(crate) mod outage;
mod partition;
mod patroni;
mod primary;
mod restart;
mod starting;
mod stray;
pub(crate) mod times;
mod waiting;

use petstore_testing::{Cluster, Durability};

use crate::support::{
    server::{Launch, Server},
    store::Store,
};

/// A server that waits for the disk, with an empty database `zoo`. The disk is a slow one, so that
/// at any time many additions, of every kind, have been sent and are not yet answered.
fn zoo() -> Cluster {
    let cluster = Cluster::start(Durability::Full).unwrap();
    for setting in ["commit_delay = 20000", "commit_siblings = 0"] {
        cluster.sql(&format!("ALTER SYSTEM SET {setting}")).unwrap();
    }
    cluster.sql("SELECT pg_reload_conf()").unwrap();
    cluster.sql("CREATE DATABASE zoo").unwrap();
    cluster
}

/// A service on the database at `url`, and an API key that is kept there.
fn serve(url: &str) -> (Server, String) {
    let store = Store::at(url);
    let key = store.new_key("kept-in-the-store");
    (Launch::on(&store).start(), key)
}
