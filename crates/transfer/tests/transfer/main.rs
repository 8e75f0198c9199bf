//! Copies, verifications and handovers between stores in memory, with failures at each step. The conformance kit runs
//! on a service over two stores, before and after a handover.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod after;
mod before;
mod copy;
mod faults;
mod faulty;
mod mocks;
mod pair;
mod stores;
mod switch;
mod verify;
