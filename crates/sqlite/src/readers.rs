//! Reads run on the runtime's workers, or on threads (`queue.rs`) if only one worker is free. So health checks,
//! refusals, timeouts and writes continue while reads hang.
//!
//! A read is a task of its own, so that its request can time out; this costs about a microsecond. The worker that
//! drives tokio's I/O driver may start a read, and no other worker takes the driver over until the read returns. So a
//! thread of `watch.rs` wakes a worker periodically while workers read.

pub(crate) mod queue;
pub(crate) mod watch;

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use petstore_storage::{PanicGuard, VersionCache};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use self::queue::Queue;
use crate::{
    config::Synchronous,
    connection::{self, SharedMemory},
    error::Failure,
    presence::Presence,
};

/// The longest time that closing the store waits for its threads. If a read takes longer, the write-ahead log may stay
/// beside the file, which is harmless.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Runs reads. Dropping this value ends its threads.
pub(crate) struct Readers {
    pub(crate) shared: Arc<Shared>,
    /// The threads of `watch.rs`, which sleep while there are no requests.
    watches: Vec<Thread>,
}

/// The state that [`Readers`] shares with the threads of `queue.rs` and `watch.rs`.
pub(crate) struct Shared {
    pub(crate) pool: Arc<Pool>,
    pub(crate) runtime: Handle,
    /// Counts the workers that read: each holds a clone.
    pub(crate) workers: Arc<()>,
    max_workers: usize,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) changed: Condvar,
    /// Set by each read and by each request for the version, and cleared when the version is polled.
    pub(crate) in_use: AtomicBool,
    closed: AtomicBool,
}

impl Readers {
    /// Starts the threads. Reads run in `runtime`.
    pub(crate) fn start(
        pool: Arc<Pool>,
        runtime: Handle,
        on_panic: &CancellationToken,
    ) -> io::Result<Self> {
        let max_workers = runtime.metrics().num_workers().saturating_sub(1).max(1);
        let shared = Arc::new(Shared {
            pool,
            runtime,
            workers: Arc::default(),
            max_workers,
            queue: Mutex::default(),
            changed: Condvar::new(),
            in_use: false.into(),
            closed: false.into(),
        });
        let mut readers = Self { shared, watches: Vec::new() };
        for _ in 0..queue::MIN_THREADS {
            readers.shared.add_thread(&mut readers.shared.queue())?;
        }
        for (name, run) in
            [("sqlite-watch", Shared::watch as fn(&Arc<Shared>)), ("sqlite-tick", Shared::tick)]
        {
            let (shared, guard) = (Arc::clone(&readers.shared), PanicGuard(on_panic.clone()));
            let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
                let _guard = guard;
                run(&shared);
            })?;
            readers.watches.push(thread.thread().clone());
        }
        Ok(readers)
    }

    /// Runs `read`. A read that has started runs to its end, even if the future is dropped.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let pool = Arc::clone(&self.shared.pool);
        if let Err(lost) = pool.presence.require() {
            // An idle connection may have opened another file at the path.
            pool.idle().clear();
            return Err(lost);
        }
        let read = move || pool.read(read);
        // The clone is counted before the limit is compared, so that two concurrent reads count each other.
        let worker = Arc::clone(&self.shared.workers);
        // The use is noted after the read is counted, so that the threads of `watch.rs` see the read before they sleep.
        if Arc::strong_count(&worker) <= self.shared.max_workers + 1 {
            let task = self.shared.runtime.spawn(async move {
                let result = read();
                drop(worker);
                result
            });
            self.note_use();
            return task.await.map_err(StoreError::unavailable)?;
        }
        drop(worker);
        let answer = self.shared.push(read)?;
        self.note_use();
        answer.await.map_err(|_| StoreError::unavailable("the read has panicked"))?
    }

    /// Keeps the threads of `watch.rs` awake. Called for each read, and for each request for the version.
    pub(crate) fn note_use(&self) {
        // Usually only reads the flag: to set it would invalidate the cache line of the other threads.
        if !self.shared.in_use.load(Ordering::SeqCst) {
            self.shared.in_use.store(true, Ordering::SeqCst);
            self.watches.iter().for_each(Thread::unpark);
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.watches.iter().for_each(Thread::unpark);
        // A thread that holds the lock may be about to wait, and would miss the notification.
        drop(self.shared.queue());
        self.shared.changed.notify_all();
        let began = Instant::now();
        // Each running thread holds a reference.
        while Arc::strong_count(&self.shared) > 1 && began.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
        self.shared.pool.idle().clear();
    }
}

/// The open store, which readers and the writer share, with connections that cannot write. The pool opens a connection
/// when a read finds no idle connection.
pub(crate) struct Pool {
    pub(crate) path: PathBuf,
    pub(crate) read_only: bool,
    /// The longest wait of the writer for another process.
    pub(crate) busy_timeout: Duration,
    /// The durability of additions.
    pub(crate) synchronous: Synchronous,
    pub(crate) presence: Presence,
    pub(crate) versions: VersionCache,
    /// The number of committed transactions of this process.
    pub(crate) commits: AtomicU64,
    /// The number of writes in the committed transactions.
    pub(crate) writes: AtomicU64,
    /// The largest number of idle connections.
    pub(crate) max_idle: usize,
    /// The idle connections. The most recently used connection is used first, because SQLite's cache of it is warm.
    pub(crate) idle: Mutex<Vec<Connection>>,
    /// Dropped after the idle connections, because an open connection prevents the removal of `-shm`.
    pub(crate) _shared_memory: Option<SharedMemory>,
}

impl Pool {
    /// Counts a committed transaction with this number of writes.
    pub(crate) fn note_commit(&self, writes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
    }

    /// Opens a connection outside of the pool.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        connection::open_reader(&self.path, self.read_only)
    }

    /// Runs `read` on a connection. Closes the connection after an error of SQLite, because a new connection is cheap
    /// and certainly sound.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| self.open(), Ok).map_err(Failure::from)?;
        let result = read(&connection);
        let mut idle = self.idle();
        if !matches!(result, Err(Failure::Sqlite(_))) && idle.len() < self.max_idle {
            idle.push(connection);
        }
        Ok(result?)
    }

    /// Returns the idle connections. Clearing the list closes them.
    pub(crate) fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
