//! Metrics of an open store.

/// The activity of this process on a store since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The number of committed transactions.
    pub commits: u64,
    /// The number of writes in them: additions, changes of keys, purges.
    pub writes: u64,
    /// The number of writes that wait for the writer now.
    pub write_queue: usize,
    /// The number of reads that wait for a thread now.
    pub read_queue: usize,
}
