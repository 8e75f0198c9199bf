//! Writes that share one transaction.

use std::{mem, sync::Arc, time::Duration};

use tokio::runtime::Handle;

use crate::{
    error::WriteFailure,
    presence::Presence,
    sync::Instant,
    version_cache::VersionCache,
    writer::{connection::WriterConnection, job::Job, tally::Tally},
};

/// A group whose transaction has ended. Its callers are answered when this is dropped, so they are
/// answered in any case.
pub(super) struct Group {
    jobs: Vec<Box<dyn Job>>,
    outcome: Result<(), WriteFailure>,
    /// How long the commit took, without what was done before it.
    commit_time: Duration,
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
        let mut commit_began = Instant::now();
        let outcome = self.run(jobs, &mut commit_began);
        if outcome.is_ok() {
            self.tally.note_commit(jobs.len());
        }
        Group { jobs: mem::take(jobs), outcome, commit_time: commit_began.elapsed() }
    }

    fn run(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        commit_began: &mut Instant,
    ) -> Result<(), WriteFailure> {
        self.presence.check()?;
        self.connection.transaction(&self.versions, |transaction, recent| {
            jobs.iter_mut().try_for_each(|job| job.run(transaction, recent))?;
            *commit_began = Instant::now();
            Ok(())
        })?;
        // A file that was removed meanwhile has taken the transaction with it.
        Ok(self.presence.check()?)
    }
}

impl Group {
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn commit_time(&self) -> Duration {
        self.commit_time
    }

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

#[cfg(test)]
#[cfg(not(feature = "schedules"))]
mod tests {
    use std::{sync::Arc, thread, time::Duration};

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::Committer;
    use crate::{
        config::{SqliteConfig, Synchronous},
        error::WriteFailure,
        file::DatabaseFile,
        pets::idempotency::recent::RecentRecords,
        presence::Presence,
        store::SqliteStore,
        sync::Instant,
        version_cache::VersionCache,
        writer::{
            connection::{WriterConnection, WriterSettings},
            job::Job,
        },
    };

    /// How long the work takes.
    const WORK: Duration = Duration::from_millis(20);

    struct SlowWork;

    impl Job for SlowWork {
        fn run(&mut self, _: &Connection, _: &mut RecentRecords) -> rusqlite::Result<()> {
            thread::sleep(WORK);
            Ok(())
        }

        fn answer(self: Box<Self>, outcome: Result<(), WriteFailure>) {
            outcome.unwrap();
        }
    }

    #[test]
    fn the_time_of_a_commit_is_without_that_of_the_work() {
        let directory = TempDir::new().unwrap();
        let (path, synchronous) = (directory.path().join("petstore.db"), Synchronous::Normal);
        let _store = SqliteStore::open(&SqliteConfig { path: path.clone(), synchronous }).unwrap();
        let file = DatabaseFile::open(&path, crate::file::IfMissing::Create).unwrap();
        let presence =
            Arc::new(Presence::new(&path, &file, crate::connection::ReadAccess::Shared).unwrap());
        let settings = WriterSettings { path, synchronous, busy_timeout: Duration::from_mins(1) };
        let connection = settings.open().unwrap();
        let connection = WriterConnection::new(settings, connection).unwrap();
        let (versions, tally) = (Arc::new(VersionCache::new()), Arc::default());
        let mut committer = Committer { connection, versions, presence, tally };
        let began = Instant::now();
        let group = committer.commit(&mut vec![Box::new(SlowWork)]);
        assert!(group.commit_time() + WORK <= began.elapsed());
        assert!(!group.commit_time().is_zero());
    }
}
