//! The service: the words of the interface.
//!
//! What depends on the store is tested on each kind of store (`on_stores!`), or on each that
//! outlives a process (`on_stores!`). All else is tested once: in memory, or on a SQLite file
//! where the test needs one.

mod connections;
mod keys;
mod lists;
mod logs_and_metrics;
mod openapi;
mod pages;
mod requests;
mod starting;
mod stores;
