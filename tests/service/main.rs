//! The service from outside: the real binary, real sockets, the words of the interface. On SQLite.
//!
//! Every answer, whatever the test is about, passes through [`support::rules`].

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod support;

mod auth;
mod body;
mod conditional;
mod create;
mod drain;
mod durability;
mod first_run;
mod get;
mod head;
mod http1;
mod http2;
mod idempotency;
mod judgement;
mod key_store;
mod keys;
mod list;
mod logs;
mod media_type;
mod open_pages;
mod openapi;
mod orders;
mod page_cache;
mod pages;
mod query;
mod request_id;
mod routes;
mod size;
mod startup;
mod sunset;
mod timeouts;
mod unavailable;
mod walk;

use support::store::Kind;

/// What the stores of this run are, unless a test says otherwise.
const KIND: Kind = Kind::Sqlite;
