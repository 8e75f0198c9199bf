//! Behavior that the conformance kit does not cover, such as failovers, poolers and deadlines.

#![cfg(test)] // so that clippy knows every function here to be part of a test

mod corruption;
mod crowded;
mod deadlines;
mod failover;
mod identifiers;
mod opening;
mod poolers;
mod proxy;
mod refusals;
mod sharing;
mod support;
mod tls;
mod writes;
