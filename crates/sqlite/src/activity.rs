//! What an operator may watch of a store in use.

use crate::store::SqliteStore;

/// How busy a store is. Counts are of this process, since the store was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Transactions that were committed.
    pub commits: u64,
    /// Writes in them: animals that were created, changes of keys, purges.
    pub writes: u64,
    /// Writes that wait for the writer at this moment.
    pub write_queue: usize,
    /// Reads that found no worker, and wait for a thread or run on one at this moment.
    pub read_queue: usize,
}

impl SqliteStore {
    /// How busy the store is.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let tally = self.writer.tally();
        Activity {
            commits: tally.commits(),
            writes: tally.writes(),
            write_queue: self.writer.queue_length(),
            read_queue: self.readers.queue_length(),
        }
    }
}
