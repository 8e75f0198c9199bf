//! Two threads that run while there are requests. Every [`INTERVAL`], the first thread checks the files and reads the
//! version, which another process may have changed. Every [`TICK`], the second thread wakes a worker and adds threads
//! for queued reads.
//!
//! While nothing is written, the transaction that reads the version stays open until the next poll. Reads then share
//! its file lock: a list of animals needs two system calls less, and a sixth less time.

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_storage::StoredVersion;
use rusqlite::Connection;

use super::{Pool, Shared};
use crate::{error::Failure, version};

/// The interval between two reads of the version: half of the age that the version cache allows.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// The longest wait of sockets and timers after the worker that drives them starts a read that hangs.
pub(crate) const TICK: Duration = Duration::from_millis(10);

impl Shared {
    /// Reads the version every [`INTERVAL`], until the store is closed.
    pub(crate) fn watch(self: &Arc<Self>) {
        let mut reader = VersionReader::default();
        while self.is_open() {
            if !self.in_use.swap(false, Ordering::SeqCst) {
                reader.release();
                thread::park();
                continue;
            }
            let began = Instant::now();
            self.poll(&mut reader, began);
            while self.is_open() && began.elapsed() < INTERVAL {
                thread::park_timeout(INTERVAL.saturating_sub(began.elapsed()));
            }
        }
    }

    fn poll(&self, reader: &mut VersionReader, began: Instant) {
        // Checks the files before it opens a connection, because SQLite removes the log of an emptied file.
        let was_present = self.pool.presence.check().is_ok();
        // An error is ignored here: requests fail for the same cause and report the error.
        let version = if was_present { reader.read(&self.pool).ok() } else { None };
        if !was_present || self.pool.presence.check().is_err() {
            *reader = VersionReader::default();
            self.pool.idle().clear();
        } else if let Some(stored) = version {
            self.pool.versions.observe(stored, began);
        }
    }

    /// Wakes a worker every [`TICK`] while there are reads, until the store is closed.
    pub(crate) fn tick(self: &Arc<Self>) {
        while self.is_open() {
            // Loads `in_use` first. A read that was noted before is counted already, and a later read wakes this
            // thread.
            let in_use = self.in_use.load(Ordering::SeqCst);
            let has_reads =
                Arc::strong_count(&self.workers) > 1 || !self.queue().waiting.is_empty();
            if has_reads {
                // The worker that runs this task drives sockets and timers afterwards.
                self.runtime.spawn(async {});
                let mut queue = self.queue();
                if queue.needs_thread() {
                    // If the system can start no thread, the running threads continue.
                    drop(self.add_thread(&mut queue));
                }
            }
            if in_use || has_reads {
                thread::park_timeout(TICK);
            } else {
                thread::park();
            }
        }
    }
}

/// The connection on which the version is read, and the last version.
#[derive(Default)]
struct VersionReader {
    connection: Option<Connection>,
    version: Option<StoredVersion>,
}

impl VersionReader {
    /// Reads the version. The transaction stays open only if the version has not changed. While the log grows, an open
    /// transaction would prevent SQLite from resetting the log.
    fn read(&mut self, pool: &Pool) -> Result<StoredVersion, Failure> {
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
