//! Throw-away PostgreSQL servers and etcd nodes for tests, mutated inputs, ports for what tests start, and
//! how a test that lacks something is skipped. A dev-dependency only: in no release build.
//!
//! [`postgres_or_skip`] gives a new, empty database on a server that all tests of one process
//! share; [`cluster_or_skip`] a server of one test's own, which it may stop, kill and fail over.
//!
//! The server is made from the installed binaries: those in `PETSTORE_TEST_POSTGRES_BIN`, else the
//! newest of Debian's versions, else what `pg_config` names. `PETSTORE_TEST_POSTGRES=URL` takes a
//! running server for [`postgres_or_skip`] instead (a role that may create databases).
//!
//! A test that needs a program says so, `#[needs(postgres)]`, and is ignored where it is not installed. What cannot be
//! told while building, such as root, is looked for by the test itself, which is skipped loudly without it. With
//! `PETSTORE_TEST_ALL=1` either fails.

mod binaries;
mod cluster;
mod database;
mod end_on_drop;
mod etcd;
mod fuzz;
mod network;
mod outage;
mod pooler;
mod ports;
mod processes;
#[expect(dead_code, reason = "the build script of `petstore-needs` uses the rest")]
mod programs;
mod skip;
mod standby;
mod trouble;
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
pub use skip::{
    cluster_or_skip, etcd_or_skip, network_or_skip, or_skip_without, pooler_or_skip,
    postgres_or_skip, say,
};
pub use trouble::Trouble;
