//! Writes that share one transaction.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use petstore_domain::StoreError;
use rusqlite::Connection;
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    error::{Failure, WriteFailure},
    pets::idempotency::recent::RecentRecords,
    presence::Presence,
    version_cache::VersionCache,
    writer::connection::WriterConnection,
};

/// A write: first it is run, then, when its transaction has ended, its caller is answered.
pub(super) trait Job: Send {
    /// Does the work and keeps its result. An error rolls the whole group back.
    fn run(&mut self, connection: &Connection, recent: &mut RecentRecords) -> rusqlite::Result<()>;

    /// Gives the caller the kept result if the transaction was committed.
    fn answer(self: Box<Self>, outcome: Result<(), WriteFailure>);
}

/// Work that has a caller.
pub(super) struct Task<T, E, W> {
    /// Taken out when it is run.
    work: Option<W>,
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
}

impl<T, E, W> Task<T, E, W> {
    pub(super) fn new(work: W, caller: oneshot::Sender<Result<T, E>>) -> Self {
        Self { work: Some(work), result: None, caller }
    }
}

impl<T, E, W> Job for Task<T, E, W>
where
    T: Send,
    E: From<StoreError> + Send,
    W: FnOnce(&Connection, &mut RecentRecords) -> Result<T, Failure<E>> + Send,
{
    fn run(&mut self, connection: &Connection, recent: &mut RecentRecords) -> rusqlite::Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        self.result = match work(connection, recent) {
            Ok(value) => Some(Ok(value)),
            Err(Failure::Answer(error)) => Some(Err(error)),
            Err(Failure::Sqlite(error)) => return Err(error),
        };
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), WriteFailure>) {
        let failed = |failure| Err(StoreError::from(failure).into());
        let answer = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => failed(WriteFailure::Stopped),
            (Err(failure), _) => failed(failure),
        };
        // If the caller's future was dropped, nobody waits for it; the write has ended whole.
        let _ = self.caller.send(answer);
    }
}

/// What was committed since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commits: AtomicU64,
    /// Writes in these commits.
    pub(crate) writes: AtomicU64,
}

/// A group whose transaction has ended. Its callers are answered when this is dropped, so they are
/// answered in any case.
pub(super) struct Group {
    jobs: Vec<Box<dyn Job>>,
    outcome: Result<(), WriteFailure>,
}

/// What every group needs.
pub(super) struct Committer {
    pub(super) connection: WriterConnection,
    pub(super) versions: Arc<VersionCache>,
    pub(super) presence: Arc<Presence>,
    pub(super) tally: Arc<Tally>,
}

impl Committer {
    /// Runs `jobs`, and takes them out, in one transaction. If anything fails, none of it has
    /// happened.
    pub(super) fn commit(&mut self, jobs: &mut Vec<Box<dyn Job>>) -> Group {
        let outcome = self.run(jobs);
        if outcome.is_ok() {
            self.tally.commits.fetch_add(1, Ordering::Relaxed);
            self.tally.writes.fetch_add(jobs.len() as u64, Ordering::Relaxed);
        }
        Group { jobs: mem::take(jobs), outcome }
    }

    fn run(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), WriteFailure> {
        self.presence.check()?;
        self.connection.transaction(&self.versions, |transaction, recent| {
            jobs.iter_mut().try_for_each(|job| job.run(transaction, recent))
        })?;
        // A file that was removed meanwhile has taken the transaction with it.
        Ok(self.presence.check()?)
    }
}

impl Group {
    /// Answers the callers, on a thread of `runtime` if there are several: there it is cheap to wake
    /// the tasks that wait, and the writer goes on. For one answer, handing it over costs more.
    pub(super) fn answer(self, runtime: Option<&Handle>) {
        if let (Some(runtime), [_, _, ..]) = (runtime, &self.jobs[..]) {
            runtime.spawn(async move { drop(self) });
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for job in self.jobs.drain(..) {
            job.answer(self.outcome.clone());
        }
    }
}
