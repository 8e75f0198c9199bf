//! Handing over between stores in memory: the promises of the storage ports over two stores, and what fails at each
//! step.

#![expect(clippy::unwrap_used, reason = "tests")]

mod after;
mod before;
mod faults;
mod pair;
