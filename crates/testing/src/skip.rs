//! Functions that skip a test if this machine lacks something that the test needs, such as PostgreSQL or root
//! privileges. A skipped test prints the reason. With `PETSTORE_TEST_ALL=1`, the test fails instead.

use std::{
    env,
    io::{self, Write as _},
    sync::OnceLock,
};

use crate::{
    cluster::{Cluster, Durability},
    database::Database,
    etcd::Etcd,
    network::Network,
    pooler::{Pooler, Pooling},
    programs::{self, EXTERNAL},
};

/// Returns a new and empty database for the test `test`; `None` without PostgreSQL.
///
/// # Panics
/// PostgreSQL is missing and `PETSTORE_TEST_ALL=1` is set, or the database cannot be created.
#[must_use]
pub fn postgres_or_skip(test: &str) -> Option<Database> {
    static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
    if let Ok(url) = env::var(EXTERNAL) {
        return Some(or_panic(Database::fresh(&url)));
    }
    let shared = SHARED.get_or_init(|| Cluster::start(Durability::Fast));
    let url = or_skip(test, shared.as_ref().map(|cluster| cluster.url("postgres")))?;
    Some(or_panic(Database::fresh(&url)))
}

/// Returns a PostgreSQL server that only the test `test` uses; `None` without PostgreSQL.
///
/// # Panics
/// The server cannot be started and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
pub fn cluster_or_skip(test: &str, durability: Durability) -> Option<Cluster> {
    or_skip(test, Cluster::start(durability))
}

/// Returns an etcd cluster with `nodes` nodes for the test `test`; `None` without etcd.
///
/// # Panics
/// The nodes cannot be started and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
pub fn etcd_or_skip(test: &str, nodes: usize) -> Option<Etcd> {
    or_skip_without("etcd", test, Etcd::start(nodes))
}

/// Returns a network for `servers` servers of the test `test`; `None` without root privileges, without the right to
/// create network namespaces, or without iproute2.
///
/// # Panics
/// The network cannot be created and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
pub fn network_or_skip(test: &str, servers: usize) -> Option<Network> {
    or_skip_without("root and iproute2", test, Network::new(servers))
}

/// Returns a connection pooler for the test `test`, in front of the server in `url`; `None` without `PgBouncer`.
///
/// # Panics
/// The pooler cannot be started and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
pub fn pooler_or_skip(test: &str, pooling: Pooling, url: &str) -> Option<Pooler> {
    or_skip_without("PgBouncer", test, Pooler::start(pooling, url))
}

fn or_skip<T, E: AsRef<str>>(test: &str, found: Result<T, E>) -> Option<T> {
    or_skip_without("PostgreSQL", test, found)
}

/// Returns the value of `found`. If `found` is an error, prints that the test `test` is skipped because `need` is
/// missing, and returns `None`. Only this function decides between skipping and failing.
///
/// # Panics
/// `found` is an error and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
#[expect(clippy::panic, reason = "a panic fails the test")]
pub fn or_skip_without<T, E: AsRef<str>>(need: &str, test: &str, found: Result<T, E>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) if programs::tests_all() => {
            panic!("{test} needs {need}, and PETSTORE_TEST_ALL=1 never skips: {}", error.as_ref())
        }
        Err(error) => {
            say(&format!("\n*** SKIPPED: {test} needs {need}: {} ***\n", error.as_ref()));
            None
        }
    }
}

/// Prints a line on stderr even if the test passes. Writes to stderr directly, because the test runner captures
/// `eprintln!`.
pub fn say(line: &str) {
    // A failed write is ignored.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[expect(clippy::panic, reason = "a panic fails the test")]
fn or_panic<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
