//! Writes that share one transaction.

use std::{mem, sync::Arc};

use tokio::runtime::Handle;

use crate::{
    error::WriteFailure,
    presence::Presence,
    version_cache::VersionCache,
    writer::{connection::WriterConnection, job::Job, tally::Tally},
};

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
            self.tally.note_commit(jobs.len());
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
