//! What copying a store and verifying a copy share.

mod difference;
mod live_attempts;

use std::ops::ControlFlow;

pub use difference::Difference;
pub(super) use difference::{between_attempts, between_keys, between_pets};
pub(super) use live_attempts::LiveAttempts;

/// Animals or idempotency records that are read or written at a time. One transaction writes them,
/// so that a service on the target waits for none longer than a fraction of a second.
pub(super) const BATCH: u32 = 5_000;

/// How far a copy or a verification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveProgress {
    /// What is being done.
    pub step: MoveStep,
    /// Rows that are done, of this step.
    pub done: u64,
    /// Rows of this step altogether.
    pub of: u64,
}

/// A step of a copy or a verification, named after its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// Animals of both stores are compared.
    ComparePets,
    /// Animals are copied.
    CopyPets,
    /// Idempotency records are copied.
    CopyAttempts,
}

/// Is told of the progress after every batch; breaking stops there. What was committed stays.
pub type Watch<'w> = &'w mut (dyn FnMut(MoveProgress) -> ControlFlow<()> + Send);
