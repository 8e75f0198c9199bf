//! Writes that share one transaction, on a connection that is opened anew after a failure that leaves it in doubt.
//!
//! When a synchronisation has failed, the system may forget what it could not write and report success
//! the next time, and the connection's cache still holds it. So nothing more is written through a
//! connection on which a transaction failed, unless it was for the write lock or for space: then SQLite
//! has rolled back, and nothing is in doubt.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use petstore_domain::{StoreError, Writer};
use rusqlite::{Connection, ErrorCode, MAIN_DB, Transaction, TransactionBehavior, ffi};
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    error::{self, Failure},
    handover::rows as handover,
    pets::idempotency::recent::RecentRecords,
    presence::Presence,
    version::{self, VersionRenewal},
    version_cache::VersionCache,
};

/// What a write does in the transaction. It keeps its result. An error rolls the whole group back.
type Work = Box<dyn FnOnce(&Connection, &mut RecentRecords) -> rusqlite::Result<()> + Send>;

type Caller = oneshot::Sender<Result<(), StoreError>>;

/// A write: first it is run, then, when its transaction has ended, its caller is told how.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) caller: Caller,
}

/// What was committed since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commits: AtomicU64,
    /// The number of writes in these commits.
    pub(crate) writes: AtomicU64,
}

/// Runs groups. It publishes new versions, and refuses to write when a file is lost.
pub(crate) struct Committer {
    /// Opens a connection.
    open: Box<dyn Fn() -> rusqlite::Result<Connection> + Send>,
    connection: Connection,
    renewal: VersionRenewal,
    recent: RecentRecords,
    in_doubt: bool,
    versions: Arc<VersionCache>,
    presence: Arc<Presence>,
    pub(super) tally: Arc<Tally>,
}

impl Committer {
    /// Accepts `connection`, which was opened by `open`.
    pub(crate) fn new(
        open: impl Fn() -> rusqlite::Result<Connection> + Send + 'static,
        mut connection: Connection,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
    ) -> rusqlite::Result<Self> {
        let renewal = VersionRenewal::new(&mut connection)?;
        let (recent, tally, in_doubt) = (RecentRecords::default(), Arc::default(), false);
        let open = Box::new(open);
        Ok(Self { open, connection, renewal, recent, in_doubt, versions, presence, tally })
    }

    /// Runs `jobs`, and takes them out, in one transaction. If anything fails, none of it has
    /// happened.
    pub(super) fn commit(&mut self, jobs: &mut Vec<Job>) -> Answers {
        let jobs = jobs.drain(..).map(|job| (job.work, job.caller));
        let (work, callers): (Vec<_>, Vec<_>) = jobs.unzip();
        let outcome = self.run(work);
        if outcome.is_ok() {
            self.tally.commits.fetch_add(1, Ordering::Relaxed);
            self.tally.writes.fetch_add(callers.len() as u64, Ordering::Relaxed);
        }
        Answers { callers, outcome }
    }

    fn run(&mut self, group: Vec<Work>) -> Result<(), StoreError> {
        self.presence.check()?;
        if self.in_doubt || !self.connection.is_autocommit() {
            self.reopen().map_err(|error| {
                StoreError::unavailable(format!("the store cannot be opened again: {error}"))
            })?;
        }
        let done = self.transaction(group);
        if done.is_err() {
            self.recent = RecentRecords::default();
        }
        self.in_doubt = matches!(&done, Err(Failure::Sqlite(error)) if is_in_doubt(error));
        done.map_err(|failure| match failure {
            Failure::Answer(error) => error,
            Failure::Sqlite(error) => {
                let step = error::io_step(&error);
                StoreError::unavailable(format!("the transaction was rolled back: {error}{step}"))
            }
        })?;
        // A file that was removed meanwhile has taken the transaction with it.
        self.presence.check()
    }

    fn transaction(&mut self, group: Vec<Work>) -> Result<(), Failure<StoreError>> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&self.connection, behavior)?;
        handover::permit(&transaction, Writer::Service)?;
        for work in group {
            work(&transaction, &mut self.recent)?;
        }
        let last = self.recent.index(&transaction)?;
        self.renewal.commit(&transaction, &self.versions, 0)?;
        self.recent.committed(last);
        Ok(())
    }

    /// The old connection is closed when the new one has read: the last connection that is closed
    /// removes the write-ahead log.
    fn reopen(&mut self) -> rusqlite::Result<()> {
        let mut connection = (self.open)()?;
        if connection.is_readonly(MAIN_DB)? {
            // SQLite opens a file so that cannot be opened for writing.
            let read_only = ffi::Error::new(ffi::SQLITE_READONLY);
            return Err(rusqlite::Error::SqliteFailure(read_only, None));
        }
        match version::current::<StoreError>(&connection) {
            Err(Failure::Sqlite(error)) => return Err(error),
            Ok(_) | Err(Failure::Answer(_)) => (),
        }
        self.renewal = VersionRenewal::new(&mut connection)?;
        (self.connection, self.recent) = (connection, RecentRecords::default());
        Ok(())
    }
}

fn is_in_doubt(error: &rusqlite::Error) -> bool {
    let harmless = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked, ErrorCode::DiskFull];
    error.sqlite_error_code().is_none_or(|code| !harmless.contains(&code))
}

/// The callers of a group whose transaction has ended. They are told when this is dropped, so they are told in any
/// case.
pub(super) struct Answers {
    callers: Vec<Caller>,
    outcome: Result<(), StoreError>,
}

impl Answers {
    /// Tells the callers, on a thread of `runtime` if there are several: there it is cheap to wake
    /// the tasks that wait, and the writer goes on. For one answer, handing it over costs more.
    pub(super) fn send(self, runtime: &Handle) {
        if self.callers.len() > 1 {
            runtime.spawn(async move { drop(self) });
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for caller in self.callers.drain(..) {
            let outcome = self.outcome.as_ref().copied().map_err(error::copy);
            // Nobody may wait any more.
            let _ = caller.send(outcome);
        }
    }
}
