//! Additions: one task, one connection, group commit.
//!
//! What waits while a transaction is under way shares the next one, with its round trips and its
//! commit. With 64 connections that is 22 times what one transaction for each addition gives
//! (`docs/PERFORMANCE.md`). It costs a queue and a task, and that the additions of a group fail
//! together when their transaction does.

mod group;
mod task;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet};
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::{self, Instant},
};

use self::{group::Job, task::Task};
use crate::{error::StoreFailure, pool::Pool, version_cache::VersionCache};

/// Additions that may wait; one more is refused at once.
const MAX_QUEUE: usize = 4096;

/// The handle of the writing task. The task ends when this is dropped and nothing waits any more.
pub(crate) struct Writer {
    /// `None` when the store is being closed.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    timeout: Duration,
}

impl Writer {
    /// Returns the handle, and the task to spawn.
    pub(crate) fn new(
        pool: Arc<Pool>,
        version: Arc<VersionCache>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(MAX_QUEUE);
        let timeout = pool.parameters().call_timeout;
        let task = Task::new(pool, version).run(waiting);
        (Self { queue: Mutex::new(Some(queue)), timeout }, task)
    }

    /// Adds an animal, and answers when that is committed.
    ///
    /// From the first poll on it is done whole or not at all, whether or not the future is polled
    /// again.
    pub(crate) async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let (caller, answer) = oneshot::channel();
        let deadline = Instant::now() + self.timeout;
        self.enqueue(Job { pet, request, deadline, tries: 0, in_doubt: false, caller })?;
        match time::timeout_at(deadline, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(StoreFailure::Stopped.into())),
            Err(_) => Err(StoreFailure::Deadline(self.timeout).into()),
        }
    }

    /// Takes no more additions; the task ends when those that wait are done.
    pub(crate) fn close(&self) {
        drop(self.queue().take());
    }

    fn enqueue(&self, job: Job) -> Result<(), StoreFailure> {
        let queue = self.queue();
        let queue = queue.as_ref().ok_or(StoreFailure::Stopped)?;
        queue.try_send(job).map_err(|refusal| match refusal {
            TrySendError::Full(_) => StoreFailure::QueueFull(MAX_QUEUE),
            TrySendError::Closed(_) => StoreFailure::Stopped,
        })
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Job>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
