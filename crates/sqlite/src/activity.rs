//! What an operator may watch of a store in use.

use crate::{
    store::SqliteStore,
    writer::{Writer, tally::Tally},
};

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
        let writer = self.writer.as_ref();
        let tally = writer.map(Writer::tally);
        Activity {
            commits: tally.map_or(0, Tally::commits),
            writes: tally.map_or(0, Tally::writes),
            write_queue: writer.map_or(0, Writer::queue_length),
            read_queue: self.readers.queue_length(),
        }
    }
}
