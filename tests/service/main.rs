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

use support::store::Kind;

/// What the stores of this run are, unless a test says otherwise.
const KIND: Kind = Kind::Sqlite;

include!("suite.rs");
