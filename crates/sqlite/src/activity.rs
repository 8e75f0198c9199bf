//! Figures of an open store.

/// How busy a store is. Counts are of this process, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Transactions that were committed.
    pub commits: u64,
    /// Writes in them: animals that were created, changes of keys, purges.
    pub writes: u64,
    /// Writes that wait for the writer at this moment.
    pub write_queue: usize,
    /// Reads that found no worker, and wait for a thread at this moment.
    pub read_queue: usize,
}
