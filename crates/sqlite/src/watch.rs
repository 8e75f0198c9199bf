//! A thread that notices what other processes have written, while there are requests.
//!
//! Every [`INTERVAL`] the catalogue's version is read, which another process may have changed, and the files
//! of the store are looked for. That may hang, so it runs on a thread for blocking work. Every [`TICK`] while
//! reads are on workers of the runtime, a worker is woken, which looks after sockets and timers.
//!
//! While nothing is written, the transaction that the version was read in stays open until the next look. SQLite
//! then takes no lock of the file for each read of this process, which are two calls of the system and a sixth of
//! the time of a page.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use petstore_storage::{PanicGuard, StoredVersion, VersionCache};
use rusqlite::Connection;
use tokio::{runtime::Handle, sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{error::Failure, pool::Pool, presence::Presence, version};

/// Half of what the version cache allows: the rest is for the reading.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// How long sockets and timers may wait at most, when the worker that looks after them begins a read that
/// hangs.
const TICK: Duration = Duration::from_millis(10);

/// How long closing the store waits for what is under way. A connection that is closed later than the
/// writer's leaves the write-ahead log beside the file, which harms nothing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A handle to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Thread,
}

/// The state that the thread shares with whoever reads.
pub(crate) struct Shared {
    pub(crate) on_panic: CancellationToken,
    pub(crate) pool: Arc<Pool>,
    pub(crate) versions: Arc<VersionCache>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) runtime: Handle,
    /// Limits the number of workers that read, to `max_workers`.
    pub(crate) workers: Arc<Semaphore>,
    pub(crate) max_workers: usize,
    pub(crate) anchor: Mutex<Anchor>,
    /// `true` if there was a request since the version was last read.
    pub(crate) in_use: AtomicBool,
    pub(crate) closed: AtomicBool,
}

impl Watch {
    /// Starts the thread. It waits for the first request.
    pub(crate) fn start(shared: Shared) -> io::Result<Self> {
        let shared = Arc::new(shared);
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sqlite-watch".to_owned());
        let thread = thread.spawn(move || run(&own))?;
        Ok(Self { thread: thread.thread().clone(), shared })
    }

    /// Keeps the thread awake. To be called for each read, and each time the version is asked for.
    pub(crate) fn note_use(&self) {
        // Mostly this only loads: a store would take the cache line away from the other threads.
        if !self.shared.in_use.load(Ordering::SeqCst) {
            self.shared.in_use.store(true, Ordering::SeqCst);
            self.thread.unpark();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.thread.unpark();
        let began = Instant::now();
        // The thread and what it has begun hold the others.
        while Arc::strong_count(&self.shared) > 1 && began.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
    }
}

/// Runs until the handle is dropped.
fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard(shared.on_panic.clone());
    let (mut looked_at, mut look) = (None::<Instant>, None::<JoinHandle<()>>);
    while !shared.closed.load(Ordering::SeqCst) {
        let is_due = looked_at.is_none_or(|at| at.elapsed() >= INTERVAL);
        let in_use = is_due && shared.in_use.swap(false, Ordering::SeqCst);
        let has_reads = shared.workers.available_permits() < shared.max_workers;
        if is_due && !in_use && !has_reads {
            // It is not free while a look is under way.
            match shared.anchor.try_lock() {
                Ok(mut anchor) => {
                    anchor.release();
                    drop(anchor);
                    thread::park();
                }
                Err(_) => thread::park_timeout(TICK),
            }
            continue;
        }
        if is_due {
            looked_at = Some(Instant::now());
            if look.as_ref().is_none_or(JoinHandle::is_finished) {
                let own = Arc::clone(shared);
                look = Some(shared.runtime.spawn_blocking(move || own.look()));
            }
        }
        if has_reads {
            // The worker that runs this looks after sockets and timers when it is done.
            shared.runtime.spawn(async {});
        }
        thread::park_timeout(TICK);
    }
}

impl Shared {
    fn look(&self) {
        let _guard = PanicGuard(self.on_panic.clone());
        let began = Instant::now();
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        // SQLite removes the log of a file that is empty when a connection opens it.
        let was_present = self.presence.check().is_ok();
        // Reads of requests fail for the same cause, and report it.
        let version = if was_present { anchor.read(&self.pool).ok() } else { None };
        let is_present = was_present && self.presence.check().is_ok();
        if !is_present {
            *anchor = Anchor::default();
            self.pool.clear();
        }
        if let Some(stored) = version.filter(|_| is_present) {
            self.versions.observe(stored, began);
        }
    }
}

/// A connection that the version is read on, and what it was the last time.
#[derive(Default)]
pub(crate) struct Anchor {
    connection: Option<Connection>,
    version: Option<StoredVersion>,
}

impl Anchor {
    /// Reads the version, in a transaction that stays open if it is the one of the last time: a log that is written
    /// to must be able to start anew.
    fn read(&mut self, pool: &Pool) -> Result<StoredVersion, Failure<StoreError>> {
        self.release();
        let connection = self.connection.take().map_or_else(|| pool.open(), Ok)?;
        connection.execute_batch("BEGIN")?;
        let version = version::current(&connection)?;
        if self.version.replace(version) != Some(version) {
            connection.execute_batch("COMMIT")?;
        }
        self.connection = Some(connection);
        Ok(version)
    }

    /// Ends the transaction.
    fn release(&mut self) {
        self.connection.take_if(|connection| {
            !connection.is_autocommit() && connection.execute_batch("COMMIT").is_err()
        });
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
