//! What the kit cannot know: several instances, nodes that restart, answers that get lost, what is refused.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod instances;
mod lost_answers;
mod opening;
mod support;
mod tls;
mod upgrade;
mod writes;
