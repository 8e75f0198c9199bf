//! The promises of the storage ports, and of this adapter's own, on real files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod api_keys;
mod corruption;
mod idempotency;
mod opening;
mod pets;
mod refusals;
mod sharing;
mod support;
mod upgrading;
mod version;
