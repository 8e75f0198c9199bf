//! Behavior that the kit does not cover: several instances, restarting nodes, lost answers, refusals.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod instances;
mod limits;
mod lost_answers;
mod opening;
mod support;
mod tls;
mod upgrade;
mod writes;
