//! The store, its settings and its metrics.

use std::{fmt, sync::atomic::Ordering};

use petstore_domain::StoreError;
use tokio_util::sync::CancellationToken;

use crate::{
    readers::Readers,
    writer::{Activity, Writer},
};

/// The settings of a store besides [`SqliteConfig`](crate::SqliteConfig).
#[derive(Clone, Debug, Default)]
pub struct SqliteSettings {
    /// `true` if this process must not change the files, whose disk may be read-only. Every write fails.
    pub read_only: bool,
    /// `true` if reads continue while the store is [sealed](petstore_domain::Phase::Sealed).
    pub reads_while_sealed: bool,
    /// Canceled when the writing thread, the thread that polls the version, or the thread that wakes tokio's workers
    /// has panicked. The program must restart then.
    pub on_task_panic: CancellationToken,
}

/// A catalogue and its API keys in a SQLite database.
///
/// Dropping the store closes it: the writer commits the queued writes, and SQLite moves the write-ahead log into the
/// file.
pub struct SqliteStore {
    // Fields are dropped in this order, so the writer's connection is closed last and empties the log.
    pub(crate) readers: Readers,
    /// The writer; `None` if the store is read-only.
    pub(crate) writer: Option<Writer>,
    pub(crate) was_created: bool,
    pub(crate) reads_while_sealed: bool,
}

impl SqliteStore {
    /// Returns the activity of this process.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let pool = &self.readers.shared.pool;
        Activity {
            commits: pool.commits.load(Ordering::Relaxed),
            writes: pool.writes.load(Ordering::Relaxed),
            write_queue: self.writer.as_ref().map_or(0, |writer| writer.queue.waiting()),
            read_queue: self.readers.shared.queue().waiting.len(),
        }
    }

    /// Returns whether the store was created when it was opened.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        let read_only = || StoreError::unavailable("the store was opened read-only");
        self.writer.as_ref().ok_or_else(read_only)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
