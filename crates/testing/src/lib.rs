//! Tools for tests: throw-away PostgreSQL servers, poolers, etcd nodes and networks; mutated inputs, free ports, guards
//! that end processes, and skipped tests. The crate is only a dev-dependency, so no release build contains it.
//!
//! [`Database::create`] returns a new, empty database on a server that all tests of one process share.
//! [`Cluster::start`] returns a separate server, which the test may stop, kill and fail over.
//!
//! The server runs the binaries in `PETSTORE_TEST_POSTGRES_BIN`, else Debian's newest version, else the version that
//! `pg_config` names. With `PETSTORE_TEST_POSTGRES=URL`, [`Database::create`] uses a running server instead; the role
//! in the URL must be able to create databases.
//!
//! A test that requires a program has an attribute such as `#[needs(postgres)]`, and is ignored if the program is not
//! installed. A test checks other requirements, such as root privileges, when it runs. If a requirement is not met, the
//! test prints that it is skipped. With `PETSTORE_TEST_ALL=1`, such a test fails.

mod binaries;
mod cluster;
mod database;
mod end_on_drop;
mod etcd;
mod fuzz;
mod network;
mod pooler;
mod ports;
mod processes;
#[expect(dead_code, reason = "the build script of `petstore-needs` uses the rest")]
mod programs;
mod skip;
mod standby;
mod time_limit;
mod watchdog;

pub use binaries::find_program;
pub use cluster::{Cluster, Durability};
pub use database::Database;
pub use end_on_drop::{End, EndOnDrop};
pub use etcd::Etcd;
pub use fuzz::{Mutations, corpus, fuzz};
pub use network::Network;
pub use petstore_needs::needs;
pub use pooler::{Pooler, Pooling};
pub use ports::free_port;
pub use skip::{network_or_skip, or_skip_without, say, say_skipped};
pub use time_limit::limit_time;
