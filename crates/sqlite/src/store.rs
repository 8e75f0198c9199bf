//! The store.

use std::{fmt, sync::Arc};

use petstore_domain::StoreError;

use crate::{
    config::Synchronous, error::WriteFailure, readers::Readers, version_cache::VersionCache,
    writer::Writer,
};

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
}

impl SqliteStore {
    /// Whether opening it has created it.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(|| WriteFailure::ReadOnly.into())
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
