//! Additions: one task, one connection, group commit.
//!
//! What waits while a transaction is under way shares the next one, with its round trip and its
//! commit. With 64 connections that is 22 times what one transaction for each addition gives.
//! It costs a queue and a task, and that the additions of a group fail together when their transaction
//! does.

mod group;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet};
use petstore_storage::VersionCache;
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use self::group::{Failed, Job, Outcome, Written};
use crate::{
    connection::Connection,
    connector::Purpose,
    error::StoreFailure,
    pool::{MAX_TRIES, Pool},
    sequences,
};

/// Additions that may wait; one more is refused at once.
const MAX_QUEUE: usize = 4096;
/// Additions in one transaction.
const MAX_GROUP: usize = 1024;
/// The pause before the next try after a connection was broken or could not be made.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The handle of the writing task. The task ends when this is dropped and nothing waits any more.
pub(crate) struct Writer {
    queue: mpsc::Sender<Job>,
    closing: CancellationToken,
    /// Canceled when the task has ended.
    ended: CancellationToken,
    timeout: Duration,
}

impl Writer {
    /// Returns the handle, and the task to spawn.
    pub(crate) fn new(
        pool: Arc<Pool>,
        version: Arc<VersionCache>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(MAX_QUEUE);
        let timeout = pool.config().call_timeout;
        let (closing, ended) = (CancellationToken::new(), CancellationToken::new());
        let (until, guard) = (closing.clone(), ended.clone().drop_guard());
        let task = async move {
            let _guard = guard;
            Task { pool, version, connection: None }.run(waiting, until).await;
        };
        (Self { queue, closing, ended, timeout }, task)
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
        let job = Job { pet, request, deadline, tries: 0, in_doubt: false, caller };
        self.queue.try_send(job).map_err(|refusal| match refusal {
            TrySendError::Full(_) => StoreFailure::QueueFull(MAX_QUEUE),
            TrySendError::Closed(_) => StoreFailure::Stopped,
        })?;
        match time::timeout_at(deadline, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(StoreFailure::Stopped.into())),
            Err(_) => Err(StoreFailure::Deadline(self.timeout).into()),
        }
    }

    /// Takes no more additions, and returns when those that wait are done.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.ended.cancelled().await;
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The writing task. It never ends because something failed.
struct Task {
    pool: Arc<Pool>,
    version: Arc<VersionCache>,
    connection: Option<Connection>,
}

impl Task {
    async fn run(mut self, mut waiting: mpsc::Receiver<Job>, closing: CancellationToken) {
        // What has to be tried again stays in the group.
        let mut group: Vec<Job> = Vec::new();
        loop {
            while group.is_empty() {
                tokio::select! {
                    () = closing.cancelled(), if !waiting.is_closed() => waiting.close(),
                    received = waiting.recv_many(&mut group, MAX_GROUP) => {
                        if received == 0 {
                            return;
                        }
                    }
                }
            }
            while group.len() < MAX_GROUP
                && let Ok(job) = waiting.try_recv()
            {
                group.push(job);
            }
            // Their callers have been answered already; what has not begun does not begin any more.
            group.retain(|job| job.deadline > Instant::now());
            if !group.is_empty() {
                group = self.write(group).await;
            }
        }
    }

    /// Writes a group and answers; what is left has to be tried again.
    async fn write(&mut self, group: Vec<Job>) -> Vec<Job> {
        let began = std::time::Instant::now();
        match self.try_to_write(&group).await {
            Ok(written) => {
                if let Some(stored) = written.version {
                    self.version.observe(stored, began);
                }
                answer(group, written.outcomes)
            }
            // Which of them it refuses, the server does not say.
            Err(failed) if failed.failure.is_refusal() && !failed.in_doubt && group.len() > 1 => {
                let mut first = group;
                let second = first.split_off(first.len() / 2);
                let mut left = Box::pin(self.write(first)).await;
                left.append(&mut Box::pin(self.write(second)).await);
                left
            }
            Err(failed) => {
                let left = retry(group, &failed);
                if !left.is_empty() && !failed.failure.is_conflict() {
                    time::sleep(RETRY_PAUSE).await;
                }
                left
            }
        }
    }

    async fn try_to_write(&mut self, group: &[Job]) -> Result<Written, Failed> {
        let connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.pool.connect(Purpose::Calls).await?,
        };
        let timeout = self.pool.config().call_timeout;
        let written = time::timeout(timeout, Box::pin(group::write(&connection, group))).await;
        let late = |_| Err(Failed::in_doubt(StoreFailure::Deadline(timeout)));
        let written = written.unwrap_or_else(late);
        let is_clean = match &written {
            Ok(_) => true,
            // After any other failure a new connection is the sure way to a clean session.
            Err(failed) => failed.failure.is_conflict() && connection.rollback().await.is_ok(),
        };
        self.connection = is_clean.then_some(connection);
        if matches!(&written, Err(failed) if failed.failure.is_identifier_taken()) {
            sequences::raise(&self.pool).await?;
        }
        written
    }
}

/// Answers each addition whose outcome is known.
fn answer(group: Vec<Job>, outcomes: Vec<Outcome>) -> Vec<Job> {
    let mut left = Vec::new();
    for (mut job, outcome) in group.into_iter().zip(outcomes) {
        match outcome {
            Some(answer) => job.answer(answer),
            None if job.tries < MAX_TRIES => {
                job.tries += 1;
                left.push(job);
            }
            None => job.answer(Err(StoreFailure::Contention.into())),
        }
    }
    left
}

/// Returns what may be tried again after the group has failed: nothing was committed, or an idempotency
/// record shows next time whether it was. The others are answered by the failure.
fn retry(group: Vec<Job>, failed: &Failed) -> Vec<Job> {
    let may_pass = failed.failure.is_conflict() || failed.failure.breaks_connection();
    let sealed = failed.failure.sealed().is_some();
    let mut left = Vec::new();
    for mut job in group {
        job.tries += 1;
        job.in_doubt |= failed.in_doubt && job.request.is_some();
        // What is in doubt has a key: repeated on the other store, it meets its record there.
        if !sealed && (job.in_doubt || (may_pass && !failed.in_doubt && job.tries < MAX_TRIES)) {
            left.push(job);
        } else {
            job.answer(Err(failed.failure.clone().into()));
        }
    }
    left
}
