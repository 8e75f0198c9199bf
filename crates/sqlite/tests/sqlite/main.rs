//! Promises of this adapter besides the contract of the storage ports (`tests/conformance.rs`), on real files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod backup;
mod companions;
mod corruption;
mod identifiers;
mod keys;
mod opening;
mod refusals;
mod sharing;
mod support;
