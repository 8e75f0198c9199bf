//! What is read beside the requests while there are any: one thread, so that no request waits for it.
//!
//! Every [`INTERVAL`] it reads the catalogue's version, which another process may have changed, and looks
//! whether the files of the store are still there. When there are no requests, it sleeps.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use petstore_domain::StoreError;

use crate::{presence::Presence, readers::pool::Pool, version, version_cache::VersionCache};

/// Half of what the version cache allows: the rest is for the reading.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// How long closing the store waits for the thread. A connection that is closed later than the writer's
/// leaves the write-ahead log beside the file, which harms nothing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// The thread. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    pool: Arc<Pool>,
    versions: Arc<VersionCache>,
    presence: Arc<Presence>,
    /// Whether there was a request since the thread last looked.
    in_use: AtomicBool,
    closed: AtomicBool,
}

impl Watch {
    /// Starts the thread, which reads by `pool`. It waits for the first request.
    pub(crate) fn start(
        pool: Arc<Pool>,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
    ) -> io::Result<Self> {
        let (in_use, closed) = (AtomicBool::new(false), AtomicBool::new(false));
        let shared = Arc::new(Shared { pool, versions, presence, in_use, closed });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sqlite-watch".to_owned());
        let thread = thread.spawn(move || own.run())?;
        Ok(Self { shared, thread })
    }

    /// To be called for each read, and each time the version is asked for.
    pub(crate) fn note_use(&self) {
        // Mostly this only loads: a store would take the cache line away from the other threads.
        if !self.shared.in_use.load(Ordering::Relaxed) {
            self.shared.in_use.store(true, Ordering::Relaxed);
            self.thread.thread().unpark();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        let began = Instant::now();
        while !self.thread.is_finished() && began.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
    }
}

impl Shared {
    /// The life of the thread.
    fn run(&self) {
        while !self.closed.load(Ordering::SeqCst) {
            if self.in_use.swap(false, Ordering::Relaxed) {
                self.look();
                self.wait();
            } else {
                thread::park();
            }
        }
    }

    /// Waits for [`INTERVAL`], however many requests come meanwhile.
    fn wait(&self) {
        let until = Instant::now() + INTERVAL;
        while !self.closed.load(Ordering::SeqCst) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    fn look(&self) {
        let moment = self.versions.moment();
        // SQLite removes the log of a file that is empty when a connection opens it.
        let version = self.presence.check().is_ok().then(|| {
            // Reads of requests fail for the same cause, and report it.
            self.pool.read::<_, StoreError>(version::current).ok()
        });
        let present = self.presence.check().is_ok();
        if !present {
            self.pool.clear();
        }
        self.versions.confirm(moment, version.flatten().filter(|_| present));
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
