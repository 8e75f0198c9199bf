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
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use petstore_storage::StoredVersion;
use rusqlite::Connection;

use super::Shared;
use crate::{error::Failure, pool::Pool, version};

/// Half of what the version cache allows: the rest is for the reading.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// How long sockets and timers may wait at most, when the worker that looks after them begins a read that
/// hangs.
pub(crate) const TICK: Duration = Duration::from_millis(10);

impl Shared {
    /// Reads the version every [`INTERVAL`], until the store is closed.
    pub(crate) fn watch(self: &Arc<Self>) {
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

    /// Wakes a worker every [`TICK`] while there are reads, until the store is closed.
    pub(crate) fn tick(self: &Arc<Self>) {
        while self.is_open() {
            // In this order: a read counts before its use is noted.
            let in_use = self.in_use.load(Ordering::SeqCst);
            let has_reads = self.has_reading_workers() || self.queue().len() > 0;
            if has_reads {
                // The worker that runs this looks after sockets and timers when it is done.
                self.runtime.spawn(async {});
                self.relieve();
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
