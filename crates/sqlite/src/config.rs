//! Settings: what an operator can choose, and what only tests change.

use std::{path::PathBuf, time::Duration};

/// Which store to open, and how durable it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// The database file. It is created if it does not exist; its directory is not.
    pub path: PathBuf,
    /// How much of what was acknowledged outlasts a power failure.
    pub synchronous: Synchronous,
}

/// The wait of a commit, in SQLite's words (`PRAGMA synchronous`).
///
/// All three keep the store consistent, and all three keep every acknowledged write when only the
/// process dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Synchronous {
    /// A commit does not wait for the disk: a power failure may take back the last acknowledged writes.
    Normal,
    /// A commit waits for the disk: every acknowledged write outlasts a power failure.
    #[default]
    Full,
    /// As `Full`, and for the directory where a journal is deleted. In the mode that this store
    /// uses (a write-ahead log) it does nothing more than `Full`.
    Extra,
}

impl Synchronous {
    /// Returns the word that the pragma takes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
            Self::Extra => "EXTRA",
        }
    }
}

/// How long a connection waits for a lock that another one holds. Tests shorten it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusyTimeout {
    /// The time that a connection that writes waits for another process's write. Opening a store waits as long.
    pub(crate) writer: Duration,
    /// The time that a reader waits. Readers wait only while the write-ahead log is recovered, and they block the
    /// thread that called them.
    pub(crate) reader: Duration,
}

impl Default for BusyTimeout {
    fn default() -> Self {
        Self { writer: Duration::from_secs(3), reader: Duration::from_millis(250) }
    }
}
