//! What is read beside the requests while there are any: one thread, so that no request waits for it.
//!
//! Every [`INTERVAL`] it takes the read lock anew, looks whether another process has changed the version,
//! and whether the files of the store are still there. When there are no requests, it sleeps.

use std::{fmt, io, sync::Arc, time::Duration};

use crate::{
    presence::Presence,
    read_lock::ReadLock,
    sync::{
        Instant,
        atomic::{AtomicBool, Ordering},
        thread::{self, JoinHandle, Thread},
    },
    version_cache::VersionCache,
};

/// Half of what the version cache allows: the rest is for the reading.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// How long closing the store waits for the thread. A connection that is closed later than the writer's
/// leaves the write-ahead log beside the file, which harms nothing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// The thread. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    pauses: WritePauses,
    thread: JoinHandle<()>,
}

/// Ends the read lock for the time of a write.
#[derive(Clone, Debug)]
pub(crate) struct WritePauses {
    shared: Arc<Shared>,
    thread: Thread,
}

/// While it lives, there is no read lock.
#[must_use]
pub(crate) struct WritePause<'p>(&'p WritePauses);

struct Shared {
    lock: ReadLock,
    versions: Arc<VersionCache>,
    presence: Arc<Presence>,
    /// Whether there was a request since the thread last looked.
    in_use: AtomicBool,
    /// Whether a write has ended since the thread last took the lock.
    resume: AtomicBool,
    closed: AtomicBool,
}

impl Watch {
    /// Starts the thread. It waits for the first request.
    pub(crate) fn start(
        lock: ReadLock,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
    ) -> io::Result<Self> {
        let [in_use, resume, closed] = [(); 3].map(|()| AtomicBool::new(false));
        let shared = Arc::new(Shared { lock, versions, presence, in_use, resume, closed });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sqlite-watch".to_owned());
        let thread = thread.spawn(move || own.run())?;
        Ok(Self { pauses: WritePauses { shared, thread: thread.thread().clone() }, thread })
    }

    /// To be called for each read, and each time the version is asked for.
    pub(crate) fn note_use(&self) {
        let WritePauses { shared, thread } = &self.pauses;
        // Mostly this only loads: a store would take the cache line away from the other threads.
        if !shared.in_use.load(Ordering::Relaxed) {
            shared.in_use.store(true, Ordering::Relaxed);
            thread.unpark();
        }
    }

    /// For the writer.
    pub(crate) fn write_pauses(&self) -> WritePauses {
        self.pauses.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.pauses.shared.closed.store(true, Ordering::SeqCst);
        self.pauses.thread.unpark();
        let began = Instant::now();
        while !self.thread.is_finished() && began.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
    }
}

impl WritePauses {
    /// Ends the read lock, and lets it not be taken until the pause ends.
    pub(crate) fn begin(&self) -> WritePause<'_> {
        self.shared.lock.pause();
        WritePause(self)
    }

    #[cfg(test)]
    #[cfg(not(feature = "schedules"))]
    pub(crate) fn is_held(&self) -> bool {
        self.shared.lock.is_held()
    }
}

impl WritePause<'_> {
    /// Ends the pause. The lock is taken again at once if no write waits and there are reads.
    pub(crate) fn end(self, writes_wait: bool) {
        let WritePauses { shared, thread } = self.0;
        shared.lock.allow();
        if !writes_wait && shared.in_use.load(Ordering::Relaxed) {
            shared.resume.store(true, Ordering::SeqCst);
            thread.unpark();
        }
    }
}

impl Shared {
    /// The life of the thread.
    fn run(&self) {
        while !self.is_closed() {
            if self.in_use.swap(false, Ordering::Relaxed) {
                self.look();
                self.wait();
            } else {
                self.lock.end();
                thread::park();
            }
        }
        self.lock.close();
    }

    fn look(&self) {
        let moment = self.versions.moment();
        // SQLite removes the log of a file that is empty when a connection opens it.
        let version = self.presence.check().is_ok().then(|| self.lock.renew()).flatten();
        let present = self.presence.check().is_ok();
        if !present {
            self.lock.close();
        }
        self.versions.confirm(moment, version.filter(|_| present));
    }

    /// Waits for [`INTERVAL`]. After a write of this process, takes the lock again meanwhile.
    fn wait(&self) {
        let until = Instant::now() + INTERVAL;
        while !self.is_closed() {
            if self.resume.swap(false, Ordering::SeqCst) && self.presence.require().is_ok() {
                self.lock.resume();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
