//! Additions: one task, one connection, group commit.

mod addition;
mod group;
mod task;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet, StoreError};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::{self, Instant},
};

use self::{addition::Addition, task::Task};
use crate::{board::Board, connector::Connector, error::StoreFailure};

/// Additions that may wait; one more is refused at once.
pub(crate) const QUEUE: usize = 4096;
/// Additions in one transaction.
const GROUP: usize = 1024;

/// The way to the writing task. The task ends when this is dropped and nothing waits any more.
pub(crate) struct Writer {
    /// `None` when the store is being closed.
    queue: Mutex<Option<mpsc::Sender<Addition>>>,
    patience: Duration,
}

impl Writer {
    pub(crate) fn start(connector: Arc<Connector>, board: Arc<Board>) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let patience = connector.parameters().call_timeout;
        let task = Task { connector, board, connection: None, patience };
        (Self { queue: Mutex::new(Some(queue)), patience }, tokio::spawn(task.run(waiting)))
    }

    /// Adds an animal, and answers when that is committed.
    ///
    /// From the first poll on it is done whole or not at all, whether or not the future is polled
    /// again.
    pub(crate) async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let (caller, answer) = oneshot::channel();
        let deadline = Instant::now() + self.patience;
        let addition = Addition { pet, attempt, deadline, tries: 0, in_doubt: false, caller };
        self.enqueue(addition).map_err(failed)?;
        match time::timeout_at(deadline, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(failed(StoreFailure::Stopped))),
            Err(_) => Err(failed(StoreFailure::Deadline(self.patience))),
        }
    }

    /// Takes no more additions; the task ends when those that wait are done.
    pub(crate) fn close(&self) {
        drop(self.queue().take());
    }

    fn enqueue(&self, addition: Addition) -> Result<(), StoreFailure> {
        let queue = self.queue();
        let queue = queue.as_ref().ok_or(StoreFailure::Stopped)?;
        queue.try_send(addition).map_err(|refusal| match refusal {
            mpsc::error::TrySendError::Full(_) => StoreFailure::QueueFull,
            mpsc::error::TrySendError::Closed(_) => StoreFailure::Stopped,
        })
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Addition>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(failure: StoreFailure) -> AddError {
    StoreError::from(failure).into()
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
