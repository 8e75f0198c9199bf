//! Needs of a test, such as root. If this machine does not meet a need, the test prints that it is skipped. With
//! `PETSTORE_TEST_ALL=1`, the test fails.

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
/// The need is missing although `PETSTORE_TEST_ALL=1`, or the database cannot be made.
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

/// Returns a server for the test `test` alone; `None` without PostgreSQL.
///
/// # Panics
/// The need is missing although `PETSTORE_TEST_ALL=1`.
#[must_use]
pub fn cluster_or_skip(test: &str, durability: Durability) -> Option<Cluster> {
    or_skip(test, Cluster::start(durability))
}

/// Returns `nodes` nodes of etcd for the test `test`; `None` without etcd.
///
/// # Panics
/// The need is missing although `PETSTORE_TEST_ALL=1`.
#[must_use]
pub fn etcd_or_skip(test: &str, nodes: usize) -> Option<Etcd> {
    or_skip_without("etcd", test, Etcd::start(nodes))
}

/// Returns a network for the servers of the test `test`; `None` without root, without the right to create network
/// namespaces, or without iproute2.
///
/// # Panics
/// The network cannot be created although `PETSTORE_TEST_ALL=1`.
#[must_use]
pub fn network_or_skip(test: &str, servers: usize) -> Option<Network> {
    or_skip_without("root and iproute2", test, Network::new(servers))
}

/// Returns a pooler for the test `test` in front of the server of `url`; `None` without `PgBouncer`.
///
/// # Panics
/// The need is missing although `PETSTORE_TEST_ALL=1`.
#[must_use]
pub fn pooler_or_skip(test: &str, pooling: Pooling, url: &str) -> Option<Pooler> {
    or_skip_without("PgBouncer", test, Pooler::start(pooling, url))
}

fn or_skip<T, E: AsRef<str>>(test: &str, found: Result<T, E>) -> Option<T> {
    or_skip_without("PostgreSQL", test, found)
}

/// Returns a need of the test `test`; `None` if it is missing. Only this function decides between skipping and failing.
///
/// # Panics
/// The need is missing although `PETSTORE_TEST_ALL=1`.
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

/// Prints a line on stderr, also if the test passes: the test runner hides the output of `eprintln!`.
pub fn say(line: &str) {
    // A failed write is ignored.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[expect(clippy::panic, reason = "a panic fails the test")]
fn or_panic<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
