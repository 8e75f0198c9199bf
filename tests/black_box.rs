//! Tests of the binary from outside, with real processes, sockets and stores.
//!
//! `Client` and `Raw::answer` check each answer by [`support::rules`].

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod load;
mod support;

mod crash;
mod etcd;
mod failover;
mod faults;
mod moving;
mod service;
mod upgrades;
