//! The running service, as the interface describes it. Each folder has one subject.
//!
//! A test that depends on the store runs on each kind of store (`on_stores!`). Every other test runs once: in memory,
//! or on a SQLite file if the test needs a file.

mod connections;
mod idempotency;
mod keys;
mod logs_and_metrics;
mod openapi;
mod starting;
mod stores;
