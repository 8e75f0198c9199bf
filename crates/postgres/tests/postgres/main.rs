//! Behavior that the conformance kit does not cover, such as restarts, failovers, poolers and deadlines.

#![cfg(test)] // so that clippy knows every function here to be part of a test

mod corruption;
mod crowded;
mod deadlines;
mod doubtful;
mod failover;
mod identifiers;
mod lost_answer;
mod open_snapshot;
mod opening;
mod poolers;
mod refusals;
mod restarts;
mod sharing;
mod support;
mod tls;
mod writes;
