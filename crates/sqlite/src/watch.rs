//! Threads that notice what other processes have written, and keep a worker awake, while there are requests.
//!
//! Every [`INTERVAL`] one thread reads the catalogue's version, which another process may have changed, and looks for the
//! files of the store. That may hang. Every [`TICK`] while there are reads on workers of the runtime, the other thread,
//! which never reads, wakes a worker, which looks after sockets and timers. It also lets the reads that wait have more
//! threads.
//!
//! While nothing is written, the transaction that the version was read in stays open until the next look. SQLite
//! then takes no lock of the file for each read of this process, which are two calls of the system and a sixth of
//! the time of a page.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use petstore_storage::{PanicGuard, StoredVersion, VersionCache};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    error::Failure, pool::Pool, presence::Presence, queue::Queue, readers::Workers, version,
};

/// Half of what the version cache allows: the rest is for the reading.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// How long sockets and timers may wait at most, when the worker that looks after them begins a read that
/// hangs.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// How long closing the store waits for a look that is under way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A handle to both threads, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    threads: Vec<Thread>,
}

/// The state that the threads share with whoever reads.
pub(crate) struct Shared {
    pub(crate) on_panic: CancellationToken,
    pub(crate) pool: Arc<Pool>,
    pub(crate) versions: Arc<VersionCache>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) runtime: Handle,
    pub(crate) workers: Arc<Workers>,
    pub(crate) queue: Arc<Queue>,
    /// Whether there was a request since the version was last read.
    pub(crate) in_use: AtomicBool,
    pub(crate) closed: AtomicBool,
}

impl Watch {
    /// Starts the threads. They wait for the first request.
    pub(crate) fn start(shared: Shared) -> io::Result<Self> {
        let mut watch = Self { shared: Arc::new(shared), threads: Vec::new() };
        let threads: [(_, fn(&Shared)); 2] =
            [("sqlite-watch", Shared::watch), ("sqlite-tick", Shared::tick)];
        for (name, run) in threads {
            let shared = Arc::clone(&watch.shared);
            let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
                let _guard = PanicGuard(shared.on_panic.clone());
                run(&shared);
            })?;
            watch.threads.push(thread.thread().clone());
        }
        Ok(watch)
    }

    /// Keeps the threads awake. To be called for each read, and each time the version is asked for.
    pub(crate) fn note_use(&self) {
        // Mostly this only loads: a store would take the cache line away from the other threads.
        if !self.shared.in_use.load(Ordering::SeqCst) {
            self.shared.in_use.store(true, Ordering::SeqCst);
            self.threads.iter().for_each(Thread::unpark);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.threads.iter().for_each(Thread::unpark);
        let began = Instant::now();
        // Each thread holds a reference.
        while Arc::strong_count(&self.shared) > 1 && began.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
    }
}

impl Shared {
    fn is_open(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
    }

    /// Reads the version every [`INTERVAL`], until the handle is dropped.
    fn watch(&self) {
        let mut anchor = Anchor::default();
        while self.is_open() {
            if !self.in_use.swap(false, Ordering::SeqCst) {
                anchor.release();
                thread::park();
                continue;
            }
            let began = Instant::now();
            self.look(&mut anchor, began);
            while self.is_open() && began.elapsed() < INTERVAL {
                thread::park_timeout(INTERVAL.saturating_sub(began.elapsed()));
            }
        }
    }

    fn look(&self, anchor: &mut Anchor, began: Instant) {
        // SQLite removes the log of a file that is empty when a connection opens it.
        let was_present = self.presence.check().is_ok();
        // Reads of requests fail for the same cause, and report it.
        let version = if was_present { anchor.read(&self.pool).ok() } else { None };
        if !was_present || self.presence.check().is_err() {
            *anchor = Anchor::default();
            self.pool.clear();
        } else if let Some(stored) = version {
            self.versions.observe(stored, began);
        }
    }

    /// Wakes a worker every [`TICK`] while there are reads, until the handle is dropped.
    fn tick(&self) {
        while self.is_open() {
            // In this order: a read counts before its use is noted.
            let in_use = self.in_use.load(Ordering::SeqCst);
            let has_reads = self.workers.are_reading() || self.queue.len() > 0;
            if has_reads {
                // The worker that runs this looks after sockets and timers when it is done.
                self.runtime.spawn(async {});
                self.queue.relieve();
            }
            if in_use || has_reads {
                thread::park_timeout(TICK);
            } else {
                thread::park();
            }
        }
    }
}

/// A connection that the version is read on, and what it was the last time.
#[derive(Default)]
struct Anchor {
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
