//! The writer of a store: a bounded queue in front of one task or thread that writes groups (group commit).
//!
//! Every store writes through one writer: jobs that wait while a transaction is under way share the next one, with its
//! lock, its round trip and its commit. This module has the part that no store needs to write again: the queue, groups,
//! deadlines, answers and the end. The transaction is the adapter's.
//!
//! # For authors of adapters
//! [`channel`] returns both ends. The store holds the [`Writer`]; [`Writer::add`] is `PetRepository::add` as it stands.
//! One task (or one thread, with [`Jobs::blocking_next`]) owns the [`Jobs`] and the connection:
//!
//! ```text
//! while let Some(mut group) = jobs.next(0).await {
//!     let transaction = begin_and_lock().await;
//!     group.retain(|job| !job.is_abandoned());     // their callers have been answered, while the lock was awaited
//!     let mut answers = Answers::default();
//!     for job in group { /* run its statements; answers.add(reply, outcome) */ }
//!     transaction.commit().await;                  // if it fails, answer every job with that failure
//!     answers.send();
//! }
//! ```
//!
//! The adapter keeps these promises:
//! - It answers each job once. A job that is dropped without an answer is answered as [`Unavailable`]
//!   ("the writer has stopped").
//! - It answers after the commit, never before.
//! - A row that the store refuses for good fails its own job with [`Refused`] and no other job of the group.
//! - The future that a caller holds may be dropped at any time. Its job then happens whole or not at all.
//!
//! Writes other than additions, such as a save of keys, may share the queue as boxed closures ([`Work`]) or as a value of
//! the adapter's own ([`Other`]).
//! An adapter without any says `Infallible`.
//!
//! [`Unavailable`]: StoreError::Unavailable
//! [`Refused`]: StoreError::Refused

#[cfg(test)]
mod tests;
mod work;

use std::{convert::Infallible, fmt, mem, time::Duration};

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

pub use self::work::Work;

/// The largest number of jobs that wait. One more is refused at once, as [`StoreError::Unavailable`].
pub const MAX_QUEUE: usize = 4096;

/// A job for the writer.
#[derive(Debug)]
pub enum Job<W = Infallible> {
    /// An animal to be added.
    Add(Add),
    /// A write of the adapter's own.
    Other(W),
}

/// An animal to be added.
#[derive(Debug)]
pub struct Add {
    /// The animal.
    pub pet: NewPet,
    /// The request whose record is stored with the animal, if it has an idempotency key.
    pub request: Option<IdempotencyRequest>,
    /// The caller.
    pub reply: Reply<Added, AddError>,
}

/// A write of an adapter's own, with the [`Reply`] to its caller. It keeps its result until the commit.
pub trait Other: Send + 'static {
    /// Returns whether its caller does not wait any more.
    fn is_abandoned(&self) -> bool;

    /// Sends the result that it has kept, or the error of the transaction.
    fn answer(self, committed: Result<(), StoreError>);
}

impl Other for Infallible {
    fn is_abandoned(&self) -> bool {
        match *self {}
    }

    fn answer(self, _: Result<(), StoreError>) {
        match self {}
    }
}

impl<W: Other> Job<W> {
    /// Returns whether the caller does not wait any more: it has dropped its future, or its deadline is over. Such a
    /// job is dropped before its statements run; ask again once the store's write lock is held.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        match self {
            Self::Add(add) => add.reply.is_abandoned(),
            Self::Other(work) => work.is_abandoned(),
        }
    }
}

/// The way back to the caller of one job.
#[derive(Debug)]
pub struct Reply<T, E> {
    caller: oneshot::Sender<Result<T, E>>,
    deadline: Option<Instant>,
}

impl<T, E> Reply<T, E> {
    /// Answers. A caller that does not wait any more misses it; its job has happened whole all the same.
    pub fn send(self, answer: Result<T, E>) {
        // An error says that the caller has dropped its future.
        let _ = self.caller.send(answer);
    }

    /// Returns whether the caller does not wait any more.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.caller.is_closed() || self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// The reason why the writer has not answered.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Unanswered {
    #[error("the writer's queue is full ({MAX_QUEUE} writes wait)")]
    QueueFull,
    #[error("the writer has stopped")]
    Stopped,
    #[error("no answer within {0:?}")]
    Deadline(Duration),
}

impl From<Unanswered> for StoreError {
    fn from(reason: Unanswered) -> Self {
        Self::unavailable(reason)
    }
}

/// Returns both ends of the queue. A group has at most `max_group` jobs. A caller waits at most `timeout`; `None` is for
/// a store whose transactions end within a bounded time by themselves.
#[must_use]
pub fn channel<W: Other>(max_group: usize, timeout: Option<Duration>) -> (Writer<W>, Jobs<W>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUE);
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let jobs = Jobs { queue: receiver, received: Vec::new(), max_group, _ended: guard };
    (Writer { queue: sender, ended, timeout }, jobs)
}

/// Hands jobs to the writing task. When it is dropped, the task ends once nothing waits any more.
pub struct Writer<W = Infallible> {
    /// `None` closes the queue behind the jobs that wait.
    queue: mpsc::Sender<Option<Job<W>>>,
    /// Canceled when [`Jobs`] is dropped.
    ended: CancellationToken,
    timeout: Option<Duration>,
}

impl<W: Other> Writer<W> {
    /// Adds an animal. Returns when it is committed.
    ///
    /// From the first poll on it is added whole or not at all, whether or not the future is polled again.
    ///
    /// # Errors
    /// [`AddError`]. After [`StoreError::Unavailable`] it is not known whether the animal was added.
    pub async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.submit(|reply| Job::Add(Add { pet, request, reply })).await
    }

    /// Runs the write that `make` makes from the reply to this call. Returns its result when it is committed.
    ///
    /// # Errors
    /// The write's own. After [`StoreError::Unavailable`] it is not known whether it has happened.
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
        let failed = |reason: Unanswered| E::from(reason.into());
        self.queue.try_send(Some(job)).map_err(|refusal| {
            failed(match refusal {
                TrySendError::Full(_) => Unanswered::QueueFull,
                TrySendError::Closed(_) => Unanswered::Stopped,
            })
        })?;
        let answered = match (deadline, self.timeout) {
            (Some(deadline), Some(timeout)) => {
                let answered = time::timeout_at(deadline, answer).await;
                answered.map_err(|_| failed(Unanswered::Deadline(timeout)))?
            }
            _ => answer.await,
        };
        answered.unwrap_or_else(|_| Err(failed(Unanswered::Stopped)))
    }

    /// Returns the number of jobs that wait to be taken into a group.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes no more jobs. Returns when those that wait are done and [`Jobs`] is dropped.
    pub async fn close(&self) {
        // An error says that it is closed already.
        let _ = self.queue.send(None).await;
        self.ended.cancelled().await;
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The jobs for the writing task, group by group. Abandoned jobs are left out.
pub struct Jobs<W = Infallible> {
    queue: mpsc::Receiver<Option<Job<W>>>,
    received: Vec<Option<Job<W>>>,
    max_group: usize,
    /// Dropped last: it tells [`Writer::close`] that everything is done.
    _ended: DropGuard,
}

impl<W: Other> Jobs<W> {
    /// Returns the jobs that wait, in their order. `held` jobs of an earlier group are still to be written and count as
    /// a part of the group; if there are none, it waits for one. Returns `None` when the queue is closed and empty, and
    /// nothing is held.
    pub async fn next(&mut self, held: usize) -> Option<Vec<Job<W>>> {
        let mut group = self.ready(held);
        while held == 0 && group.is_empty() {
            if self.queue.recv_many(&mut self.received, self.max_group).await == 0 {
                return None;
            }
            group = self.ready(held);
        }
        Some(group)
    }

    /// As [`next`](Self::next), for a thread outside of a runtime.
    pub fn blocking_next(&mut self, held: usize) -> Option<Vec<Job<W>>> {
        let mut group = self.ready(held);
        while held == 0 && group.is_empty() {
            if self.queue.blocking_recv_many(&mut self.received, self.max_group) == 0 {
                return None;
            }
            group = self.ready(held);
        }
        Some(group)
    }

    /// Returns the jobs that wait now and fit into a group beside `held` others. Does not wait.
    pub fn ready(&mut self, held: usize) -> Vec<Job<W>> {
        let mut group = Vec::new();
        for received in mem::take(&mut self.received) {
            self.accept(received, &mut group);
        }
        while held + group.len() < self.max_group
            && let Ok(received) = self.queue.try_recv()
        {
            self.accept(received, &mut group);
        }
        group
    }

    fn accept(&mut self, received: Option<Job<W>>, group: &mut Vec<Job<W>>) {
        match received {
            Some(job) if job.is_abandoned() => {}
            Some(job) => group.push(job),
            None => self.queue.close(),
        }
    }
}

impl<W> fmt::Debug for Jobs<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

/// The answers of one group whose transaction has ended. Dropping it sends them, so that no committed job is answered
/// as if the writer had stopped.
#[derive(Debug)]
pub struct Answers<W: Other = Infallible> {
    added: Vec<(Reply<Added, AddError>, Result<Added, AddError>)>,
    others: Vec<(W, Result<(), StoreError>)>,
}

impl<W: Other> Answers<W> {
    /// Appends the answer of an addition.
    pub fn add(&mut self, reply: Reply<Added, AddError>, answer: Result<Added, AddError>) {
        self.added.push((reply, answer));
    }

    /// Appends the answer of another write: it has been committed, or the error of its transaction.
    pub fn other(&mut self, work: W, committed: Result<(), StoreError>) {
        self.others.push((work, committed));
    }

    /// Sends them here.
    pub fn send(self) {
        drop(self);
    }

    /// Sends them on a thread of `runtime`, where it is cheap to wake the tasks that wait, so that the writer's own
    /// thread continues. A single answer is sent here: handing it over costs more.
    pub fn send_on(self, runtime: &Handle) {
        if self.added.len() + self.others.len() > 1 {
            runtime.spawn(async move { drop(self) });
        }
    }
}

impl<W: Other> Default for Answers<W> {
    fn default() -> Self {
        Self { added: Vec::new(), others: Vec::new() }
    }
}

impl<W: Other> Drop for Answers<W> {
    fn drop(&mut self) {
        for (reply, answer) in self.added.drain(..) {
            reply.send(answer);
        }
        for (work, committed) in self.others.drain(..) {
            work.answer(committed);
        }
    }
}
