//! What the writer has committed, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commits: AtomicU64,
    writes: AtomicU64,
}

impl Tally {
    /// A transaction of so many writes was committed.
    pub(super) fn note_commit(&self, writes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
    }

    /// Transactions that were committed.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Writes in them.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }
}
