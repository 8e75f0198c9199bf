//! Copies, verifications and handovers between stores in memory: the promises of the storage ports over two stores, and
//! failures at each step.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod after;
mod before;
mod copy;
mod faults;
mod mocks;
mod pair;
mod small_batches;
mod stores;
mod switch;
mod verify;
