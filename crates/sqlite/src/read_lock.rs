//! One read lock for all readers of the process.
//!
//! **What.** Every read holds a shared lock on the snapshot that it reads. SQLite asks the system for
//! that lock for the first reader of the process only, and counts the others. So while requests come
//! in, the watch (`watch.rs`) keeps one read transaction open on a connection of its own: then each read
//! is merely counted. What a read sees is not changed by it.
//!
//! **What it buys.** Without it most reads are the first one: each pays for two system calls, and
//! meanwhile holds a mutex that the reads of other threads wait for. With it, 13 % more pages that are not in
//! the page cache are read, each for 21 % less processor time (64 connections, two processors).
//!
//! **What it costs.** A connection, and care: a lock on a snapshot keeps SQLite from starting the
//! write-ahead log anew. So the transaction
//! - is ended before this process's writer begins, and begins again when no write waits;
//! - lasts for one interval of the watch at most, and is then begun again only if there were reads
//!   meanwhile and no other process has written;
//! - does not begin while the log is long.
//!
//! The writer never waits for it, as the watch may be in a read that hangs: then the watch ends the
//! transaction itself, when that read is done.

mod transaction;

use std::sync::{PoisonError, TryLockError};

use petstore_domain::CatalogueVersion;
use rusqlite::Connection;

#[cfg(test)]
#[cfg(not(feature = "schedules"))]
pub(crate) use self::transaction::LONG_LOG;
use self::transaction::ReadTransaction;
use crate::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// The transaction that holds the lock, and whether it may.
pub(crate) struct ReadLock {
    /// Locked by the watch while it reads.
    transaction: Mutex<ReadTransaction>,
    /// Whether the writer is at work.
    paused: AtomicBool,
}

impl ReadLock {
    /// Not held, and without a connection.
    pub(crate) fn new(open: impl Fn() -> rusqlite::Result<Connection> + Send + 'static) -> Self {
        let transaction = Mutex::new(ReadTransaction::new(open));
        Self { transaction, paused: AtomicBool::new(false) }
    }

    /// For the watch: takes the lock anew, unless the writer is at work or another connection has
    /// written since. The version that the catalogue has now; `None` if it cannot be read.
    pub(crate) fn renew(&self) -> Option<CatalogueVersion> {
        let version = self.transaction().renew(!self.is_paused());
        self.end_if_paused();
        version
    }

    /// For the watch: takes the lock after a write of this process.
    pub(crate) fn resume(&self) {
        if !self.is_paused() {
            let mut transaction = self.transaction();
            transaction.forget_snapshot();
            transaction.renew(true);
        }
        self.end_if_paused();
    }

    /// For the watch: gives the lock up.
    pub(crate) fn end(&self) {
        self.transaction().end();
    }

    /// For the watch: gives the lock up, and the connection.
    pub(crate) fn close(&self) {
        self.transaction().close();
    }

    /// For the writer: gives the lock up, and lets nobody take it before [`allow`](Self::allow).
    pub(crate) fn pause(&self) {
        self.paused.store(true, Ordering::SeqCst);
        self.end_if_paused();
    }

    /// For the writer.
    pub(crate) fn allow(&self) {
        self.paused.store(false, Ordering::SeqCst);
    }

    /// Called by the writer when it has paused the lock, and by the watch when it may have taken it:
    /// whichever comes later finds the other's.
    fn end_if_paused(&self) {
        if self.is_paused() {
            match self.transaction.try_lock() {
                Ok(mut transaction) => transaction.end(),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().end(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Whether it is held.
    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.transaction().is_open()
    }

    fn transaction(&self) -> MutexGuard<'_, ReadTransaction> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
