//! A read transaction that stands between writes, for the sake of its lock.
//!
//! Every read holds a shared lock on the state that it reads. SQLite asks the system for it only for
//! the first connection of the process that wants it, and counts the others. Without a standing
//! read, each read is the first one: it pays for two calls of the system, and meanwhile holds a
//! mutex that the reads of all other threads wait for. With one, all that is left is the count. What a
//! read sees is not changed by it.
//!
//! A lock on a state keeps SQLite from starting the write-ahead log anew. So the transaction
//! - gives way to this process's writer before a write begins, and begins anew when the writer has
//!   nothing left to do;
//! - stands for one [`TERM`] only, and then begins anew if somebody has read meanwhile and no other
//!   process has written: it is in the way of others for no longer than that;
//! - does not begin while the log is long.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

#[cfg(test)]
use petstore_domain::{CatalogueVersion, StoreError};
use rusqlite::{Connection, Row};

use crate::version;

/// How long the transaction stands, if nothing ends it before.
pub(crate) const TERM: Duration = Duration::from_millis(50);

/// In frames: from this length on, each commit tries to bring the log into the file, so that the next
/// one can start it anew (`wal_autocheckpoint`, where nobody changes it).
pub(crate) const LONG_LOG: i64 = 1000;

type Open = dyn Fn() -> rusqlite::Result<Connection> + Send;

/// Ends, with its thread, when it is dropped.
pub(crate) struct StandingRead {
    stand: Arc<Stand>,
    thread: Thread,
}

/// Where the transaction stands, as its thread and the writer see it.
pub(crate) struct Stand {
    /// Whether somebody has read since the thread looked last.
    wanted: AtomicBool,
    read: Mutex<Read>,
}

struct Read {
    open: Box<Open>,
    /// `None` before it is needed, and after it has failed.
    connection: Option<Connection>,
    /// Of the state that was last seen; `None` when that is not known.
    data_version: Option<i64>,
    writing: bool,
    ended: bool,
}

impl StandingRead {
    /// Starts the thread. It waits, without a connection, until somebody reads.
    pub(crate) fn start(
        open: impl Fn() -> rusqlite::Result<Connection> + Send + 'static,
    ) -> io::Result<Self> {
        let read = Read {
            open: Box::new(open),
            connection: None,
            data_version: None,
            writing: false,
            ended: false,
        };
        let stand = Arc::new(Stand { wanted: AtomicBool::new(false), read: Mutex::new(read) });
        let own = Arc::clone(&stand);
        let thread =
            thread::Builder::new().name("sqlite-reader".to_owned()).spawn(move || keep(&own))?;
        Ok(Self { stand, thread: thread.thread().clone() })
    }

    /// Somebody reads.
    pub(crate) fn want(&self) {
        // Most only look: writing to what all threads look at would make them wait for each other.
        if !self.stand.wanted.load(Ordering::Relaxed) {
            self.stand.wanted.store(true, Ordering::Relaxed);
            self.thread.unpark();
        }
    }

    pub(crate) fn stand(&self) -> &Arc<Stand> {
        &self.stand
    }
}

impl Drop for StandingRead {
    fn drop(&mut self) {
        let mut read = self.stand.read();
        read.ended = true;
        read.connection = None;
        drop(read);
        self.thread.unpark();
    }
}

/// The life of the thread.
fn keep(stand: &Stand) {
    while !stand.read().ended {
        if stand.wanted.swap(false, Ordering::Relaxed) {
            stand.read().renew(false);
            thread::sleep(TERM);
        } else {
            stand.read().give_up();
            thread::park();
        }
    }
}

impl Stand {
    /// Ends the transaction, and lets none begin until the returned value is dropped.
    pub(crate) fn give_way(&self) -> Way<'_> {
        let mut read = self.read();
        read.writing = true;
        read.give_up();
        Way(self)
    }

    /// The writer has nothing left to do: begins anew at once, if somebody reads.
    pub(crate) fn resume(&self) {
        if self.wanted.load(Ordering::Relaxed) {
            self.read().renew(true);
        }
    }

    /// The mark of the state that the transaction sees, if it stands.
    #[cfg(test)]
    pub(crate) fn state(&self) -> Option<CatalogueVersion> {
        let read = self.read();
        let connection = read.connection.as_ref().filter(|it| !it.is_autocommit())?;
        version::current::<StoreError>(connection).ok()
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer writes.
pub(crate) struct Way<'s>(&'s Stand);

impl Drop for Way<'_> {
    fn drop(&mut self) {
        self.0.read().writing = false;
    }
}

impl Read {
    /// Begins anew, if that is in nobody's way. If somebody has written since the last time, it may
    /// well be; but not if that was this process's writer, and it has told that it is done
    /// (`after_own_write`).
    fn renew(&mut self, after_own_write: bool) {
        if self.ended {
            return; // The writer may still be at work on what waited when the store was dropped.
        }
        self.give_up();
        if self.begin(after_own_write).is_err() {
            // Reads fail for the same cause, and they are who reports it.
            self.connection = None;
            self.data_version = None;
        }
    }

    fn begin(&mut self, after_own_write: bool) -> rusqlite::Result<()> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => (self.open)()?,
        };
        let connection = self.connection.insert(connection);
        let data_version = data_version(connection)?;
        let seen = self.data_version.replace(data_version);
        let quiet = after_own_write || seen == Some(data_version);
        if self.writing || !quiet || has_long_log(connection)? {
            return Ok(());
        }
        connection.execute_batch("BEGIN")?;
        // The transaction takes its lock when it first reads.
        connection.prepare_cached(version::SELECT)?.query_row([], |_| Ok(()))
    }

    /// Ends the transaction if there is one.
    fn give_up(&mut self) {
        let stuck = self.connection.as_ref().is_some_and(|connection| {
            !connection.is_autocommit() && connection.execute_batch("ROLLBACK").is_err()
        });
        if stuck {
            self.connection = None;
        }
    }
}

/// SQLite's number for the state that `connection` is in, which any other connection's commit
/// changes. It tells that something was written for less than the mark costs.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Whether the log is so long that a commit brings it into the file, and has not been brought there
/// whole, which is what a lock on an earlier state prevents.
fn has_long_log(connection: &Connection) -> rusqlite::Result<bool> {
    // `NOOP` tells how long the log is, and how much of it is in the file, and does nothing.
    let lengths = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
    let (log, in_file): (i64, i64) =
        connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], lengths)?;
    Ok(log >= LONG_LOG && in_file < log)
}

impl fmt::Debug for StandingRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandingRead").finish_non_exhaustive()
    }
}
