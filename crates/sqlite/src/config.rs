//! Settings that an operator chooses.

use std::path::PathBuf;

/// The store to open, and its durability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// The database file. A missing file is created; a missing directory is not.
    pub path: PathBuf,
    /// The durability of acknowledged writes after a power failure.
    pub synchronous: Synchronous,
}

/// SQLite's setting `PRAGMA synchronous`: when a commit waits for the disk.
///
/// The variants have SQLite's numbers. With every setting, the store stays consistent, and acknowledged writes survive
/// a crash of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Synchronous {
    /// An addition does not wait for the disk: a power failure may undo the last acknowledged additions.
    Normal = 1,
    /// A commit waits for the disk: every acknowledged write survives a power failure.
    #[default]
    Full = 2,
    /// Equal to `Full` for this store. SQLite treats it differently only for a rollback journal, and the store has a
    /// write-ahead log.
    Extra = 3,
}
