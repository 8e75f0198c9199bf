//! One addition on its way through the queue.

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet};
use tokio::{sync::oneshot, time::Instant};

/// An animal to be added, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) pet: NewPet,
    pub(super) request: Option<IdempotencyRequest>,
    /// Until then its caller waits.
    pub(super) deadline: Instant,
    /// How often it has been tried.
    pub(super) tries: u32,
    /// Whether an earlier try may have been committed: its answer was lost. Then its record is to
    /// be looked for until the deadline.
    pub(super) in_doubt: bool,
    pub(super) caller: oneshot::Sender<Result<Added, AddError>>,
}

impl Job {
    pub(super) fn answer(self, answer: Result<Added, AddError>) {
        // The caller's future may have been dropped; the addition has happened whole all the same.
        let _ = self.caller.send(answer);
    }
}
