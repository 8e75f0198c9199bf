//! The store.

use std::{fmt, sync::Arc};

use petstore_domain::StoreError;
use petstore_storage::VersionCache;
use tokio_util::sync::CancellationToken;

use crate::{activity::Activity, config::Synchronous, readers::Readers, writer::Writer};

/// The settings of a store besides its file.
#[derive(Clone, Debug, Default)]
pub struct SqliteSettings {
    /// `true` if the store is a file that this process must not change, on a disk that may be read-only. A
    /// write fails.
    pub read_only: bool,
    /// `true` if reads go on while the store is [sealed](petstore_domain::Phase::Sealed).
    pub reads_while_sealed: bool,
    /// Canceled when a thread of the store has panicked: the one that writes, without which every write
    /// fails, or the one that notices what other processes write. The program is to be restarted then.
    pub on_task_panic: CancellationToken,
}

/// A catalogue and its API keys in a SQLite database.
///
/// Dropping the store closes it: the writer finishes everything that waits, which takes about one
/// commit, and the write-ahead log is brought into the file.
pub struct SqliteStore {
    // In the order in which they are dropped: the writer's connection is the last to be closed, so
    // that it empties the log.
    pub(crate) readers: Readers,
    pub(crate) versions: Arc<VersionCache>,
    /// `None` if the store is only read.
    pub(crate) writer: Option<Writer>,
    pub(crate) was_created: bool,
    pub(crate) synchronous: Synchronous,
    pub(crate) reads_while_sealed: bool,
}

impl SqliteStore {
    /// Returns how busy the store is.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let writer = self.writer.as_ref().map(Writer::activity).unwrap_or_default();
        Activity { read_queue: self.readers.queue_length(), ..writer }
    }

    /// Returns whether opening the store has created it.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        let read_only = || StoreError::unavailable("the store was opened only to be read");
        self.writer.as_ref().ok_or_else(read_only)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
