//! The suite of `main.rs`, unchanged, on stores in memory.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

use support::store::Kind;

/// What the stores of this run are, unless a test says otherwise.
const KIND: Kind = Kind::Memory;

include!("suite.rs");
