//! Behavior that the conformance kit does not cover, such as restarting nodes, lost answers, refusals and upgrades.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod instances;
mod limits;
mod lost_answers;
mod opening;
mod support;
mod tls;
mod upgrade;
mod writes;
