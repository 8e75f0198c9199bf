//! The binary from outside: the real process, real sockets, real stores.
//!
//! Every answer, whatever the test is about, passes through [`support::rules`].

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
