//! The promises of the storage ports, kept in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod api_keys;
mod pets;
mod support;
