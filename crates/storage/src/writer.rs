//! The writer of a store: a bounded queue in front of one task or thread that writes groups (group commit).
//!
//! Jobs that wait while a transaction runs share the next transaction, with its lock, its round trip and its commit.
//! This module has the queue, groups, deadlines and answers. The adapter has the transaction.
//!
//! # For authors of adapters
//! [`channel`] returns both ends. The store holds the [`Writer`], and `PetRepository::add` calls [`Writer::add`]. One
//! task (or one thread, with [`Jobs::blocking_next`]) owns the [`Jobs`] and the connection:
//!
//! ```text
//! while let Some(mut group) = jobs.next(0).await {
//!     let transaction = begin_and_lock().await;
//!     group.retain(|Job::Add(add)| !add.reply.is_abandoned());    // drops jobs whose callers have left meanwhile
//!     let mut answers = Answers::default();
//!     for job in group { /* run its statements; answers.add(reply, outcome) */ }
//!     transaction.commit().await;                  // if it fails, answer every job with the failure
//!     answers.send();
//! }
//! ```
//!
//! The adapter keeps these promises:
//! - It answers each job once, after the commit. A job that is dropped without an answer fails as [`Unavailable`] ("the
//!   writer has stopped").
//! - A row that the store refuses for good fails its own job with [`Refused`], and no other job of the group.
//! - A job takes effect whole or not at all, even if the caller drops its future.
//!
//! Other writes, such as a save of keys, may share the queue as a type of the adapter ([`Job::Other`]). This type may
//! be a boxed closure that holds the [`Reply`] to its caller. An adapter without other writes uses `Infallible`.
//!
//! [`Unavailable`]: StoreError::Unavailable
//! [`Refused`]: StoreError::Refused

#[cfg(test)]
mod tests;

use std::{convert::Infallible, time::Duration};

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet, StoreError};
use tokio::{
    runtime::Handle,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::{self, Instant},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The largest number of queued jobs. A further job fails at once as [`StoreError::Unavailable`].
pub const MAX_QUEUE: usize = 4096;

/// A job for the writer.
#[derive(Debug)]
pub enum Job<W = Infallible> {
    /// An animal to be added.
    Add(Add),
    /// Another write, which has the [`Reply`] to its caller.
    Other(W),
}

/// An animal to be added.
#[derive(Debug)]
pub struct Add {
    /// The animal.
    pub pet: NewPet,
    /// The request to record with the animal, if it has an idempotency key.
    pub request: Option<IdempotencyRequest>,
    /// The way to answer the caller.
    pub reply: Reply<Added, AddError>,
}

/// The way to answer the caller of one job.
#[derive(Debug)]
pub struct Reply<T, E> {
    caller: oneshot::Sender<Result<T, E>>,
    deadline: Option<Instant>,
}

impl<T, E> Reply<T, E> {
    /// Sends the answer. If the caller has left, nobody reads the answer, but the job still has its effect.
    pub fn send(self, answer: Result<T, E>) {
        // Fails only if the caller has dropped its future.
        let _ = self.caller.send(answer);
    }

    /// Returns whether the caller no longer waits, because it has dropped its future or its deadline is over. An
    /// adapter calls this method once it holds the store's write lock, and drops an abandoned job before its statements
    /// run.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.caller.is_closed() || self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// Makes a queue. A group has at most `max_group` jobs. A caller waits at most `timeout`; `None` is for a store whose
/// transactions always end within a bounded time.
#[must_use]
pub fn channel<W>(max_group: usize, timeout: Option<Duration>) -> (Writer<W>, Jobs<W>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUE);
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let jobs = Jobs { queue: receiver, max_group, _ended: guard };
    (Writer { queue: sender, ended, timeout }, jobs)
}

/// Sends jobs to the writing task. The task ends when the writer is dropped and no job is left.
#[derive(Debug)]
pub struct Writer<W = Infallible> {
    /// A `None` in the queue closes the queue after the queued jobs.
    queue: mpsc::Sender<Option<Job<W>>>,
    /// Canceled when [`Jobs`] is dropped.
    ended: CancellationToken,
    timeout: Option<Duration>,
}

impl<W> Writer<W> {
    /// Adds an animal. Returns after the commit. A future that is dropped after its first poll may or may not add the
    /// animal.
    ///
    /// # Errors
    /// [`AddError`]. After [`StoreError::Unavailable`], the animal may or may not be added.
    pub async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.submit(|reply| Job::Add(Add { pet, request, reply })).await
    }

    /// Queues the write that `make` makes from a reply. Returns the result of the write after the commit.
    ///
    /// # Errors
    /// The error of the write. After [`StoreError::Unavailable`], the write may or may not have taken effect.
    pub async fn run<T, E: From<StoreError>>(
        &self,
        make: impl FnOnce(Reply<T, E>) -> W,
    ) -> Result<T, E> {
        self.submit(|reply| Job::Other(make(reply))).await
    }

    async fn submit<T, E: From<StoreError>>(
        &self,
        make: impl FnOnce(Reply<T, E>) -> Job<W>,
    ) -> Result<T, E> {
        let (caller, answer) = oneshot::channel();
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let job = make(Reply { caller, deadline });
        let stopped = || StoreError::unavailable("the writer has stopped");
        self.queue.try_send(Some(job)).map_err(|refusal| match refusal {
            TrySendError::Full(_) => StoreError::unavailable(format!(
                "the writer's queue is full ({MAX_QUEUE} writes wait)"
            )),
            TrySendError::Closed(_) => stopped(),
        })?;
        let answered = match (deadline, self.timeout) {
            (Some(deadline), Some(timeout)) => {
                let late = |_| StoreError::unavailable(format!("no answer within {timeout:?}"));
                time::timeout_at(deadline, answer).await.map_err(late)?
            }
            _ => answer.await,
        };
        answered.unwrap_or_else(|_| Err(stopped().into()))
    }

    /// Returns the number of queued jobs.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Refuses new jobs. Returns when the queued jobs are done and [`Jobs`] is dropped.
    pub async fn close(&self) {
        // Fails only if the queue is closed already.
        let _ = self.queue.send(None).await;
        self.ended.cancelled().await;
    }
}

/// The receiving end of the queue, which returns groups of jobs without the abandoned additions.
#[derive(Debug)]
pub struct Jobs<W = Infallible> {
    queue: mpsc::Receiver<Option<Job<W>>>,
    max_group: usize,
    /// Wakes [`Writer::close`] when it is dropped, after the other fields.
    _ended: DropGuard,
}

impl<W> Jobs<W> {
    /// Returns the queued jobs in their order. `held` is the number of jobs of an earlier group that are still to be
    /// written. Held jobs count as part of the new group. Without held jobs, waits for a job, and returns `None` when
    /// the queue is closed and empty.
    pub async fn next(&mut self, held: usize) -> Option<Vec<Job<W>>> {
        let mut group = self.ready(held);
        while held == 0 && group.is_empty() {
            let first = self.queue.recv().await?;
            self.accept(first, &mut group);
            self.fill(held, &mut group);
        }
        Some(group)
    }

    /// The blocking form of [`next`](Self::next), for a thread outside of a runtime.
    pub fn blocking_next(&mut self, held: usize) -> Option<Vec<Job<W>>> {
        let mut group = self.ready(held);
        while held == 0 && group.is_empty() {
            let first = self.queue.blocking_recv()?;
            self.accept(first, &mut group);
            self.fill(held, &mut group);
        }
        Some(group)
    }

    /// Returns the queued jobs that fit into a group with `held` other jobs. Does not wait.
    pub fn ready(&mut self, held: usize) -> Vec<Job<W>> {
        let mut group = Vec::new();
        self.fill(held, &mut group);
        group
    }

    fn fill(&mut self, held: usize, group: &mut Vec<Job<W>>) {
        while held + group.len() < self.max_group
            && let Ok(received) = self.queue.try_recv()
        {
            self.accept(received, group);
        }
    }

    fn accept(&mut self, received: Option<Job<W>>, group: &mut Vec<Job<W>>) {
        match received {
            Some(Job::Add(add)) if add.reply.is_abandoned() => {}
            Some(job) => group.push(job),
            None => self.queue.close(),
        }
    }
}

/// The answers to the additions of one group after its transaction. Dropping this value sends the answers, so that no
/// committed addition fails with "the writer has stopped".
#[derive(Debug, Default)]
pub struct Answers(Vec<(Reply<Added, AddError>, Result<Added, AddError>)>);

impl Answers {
    /// Adds the answer of an addition.
    pub fn add(&mut self, reply: Reply<Added, AddError>, answer: Result<Added, AddError>) {
        self.0.push((reply, answer));
    }

    /// Sends the answers on this thread.
    pub fn send(self) {
        drop(self);
    }

    /// Sends the answers on a worker of `runtime`, where waking tasks is cheap, so that the writer's thread can
    /// continue. A single answer is sent on this thread, which costs less.
    pub fn send_on(self, runtime: &Handle) {
        if self.0.len() > 1 {
            runtime.spawn(async move { drop(self) });
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for (reply, answer) in self.0.drain(..) {
            reply.send(answer);
        }
    }
}
