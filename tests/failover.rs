//! PostgreSQL fails under load, stores start late, and many instances start at once.
//!
//! The tests that assert the time limits in `times.rs` need a quiet machine, and print their measurements.

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

/// Starts a PostgreSQL server with an empty database `zoo`. Every commit takes at least 20 ms, so that many additions
/// are in flight when the server fails.
fn zoo() -> Cluster {
    let cluster = Cluster::start(Durability::Full).unwrap();
    for setting in ["commit_delay = 20000", "commit_siblings = 0"] {
        cluster.sql(&format!("ALTER SYSTEM SET {setting}")).unwrap();
    }
    cluster.sql("SELECT pg_reload_conf()").unwrap();
    cluster.sql("CREATE DATABASE zoo").unwrap();
    cluster
}

/// Starts a service on the store at `url`. Also returns an API key of the store.
fn serve(url: &str) -> (Server, String) {
    let store = Store::at(url);
    let key = store.new_key("kept-in-the-store");
    (Launch::on(&store).start(), key)
}
