//! Moves of stores that are in use: under load, with kills, in both directions.
//!
//! `PETSTORE_TEST_MOVES=long` moves a million animals in the tests of `whole.rs`.

mod attacks;
pub(super) mod commands;
mod kills;
mod phase;
mod pooled;
mod refusals;
mod whole;

use std::env;

/// Returns the number of animals before a move in the chosen form of the tests.
pub(crate) fn animals() -> usize {
    match env::var("PETSTORE_TEST_MOVES").as_deref() {
        Ok("long") => 1_000_000,
        Ok(other) => panic!("PETSTORE_TEST_MOVES can be 'long', not '{other}'"),
        Err(_) => 1_000,
    }
}
