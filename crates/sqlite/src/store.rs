//! The store: one writer, readers, and the board that shows the catalogue's mark.

use std::{fmt, path, sync::Arc};

use crate::{
    OpenError, SqliteConfig, board::Board, config::Patience, file::DatabaseFile, open,
    readers::Readers, version::Renewal, writer::Writer,
};

/// A catalogue and its API keys in a SQLite database.
///
/// Dropping the store closes it: the writer finishes everything that waits, which takes about one
/// commit, and the write-ahead log is folded into the file.
pub struct SqliteStore {
    // In the order in which they are dropped: the writer's connection is the last to be closed, so
    // that it folds in the log, and the file is closed when SQLite's locks on it are gone.
    pub(crate) readers: Readers,
    pub(crate) board: Arc<Board>,
    pub(crate) writer: Writer,
    _file: DatabaseFile,
}

impl SqliteStore {
    /// Opens the store at `config.path`, or creates it.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to mend it.
    pub fn open(config: &SqliteConfig) -> Result<Self, OpenError> {
        Self::open_with(config, Patience::default())
    }

    pub(crate) fn open_with(config: &SqliteConfig, patience: Patience) -> Result<Self, OpenError> {
        let refused = |reason| OpenError::new(&config.path, reason);
        // An absolute path is never one of SQLite's special names (`:memory:`, `file:…`), and it
        // stays right when the process changes its directory.
        let path = path::absolute(&config.path).map_err(|error| refused(error.into()))?;
        let config = SqliteConfig { path, ..config.clone() };
        Self::open_absolute(&config, patience).map_err(refused)
    }

    fn open_absolute(config: &SqliteConfig, patience: Patience) -> Result<Self, open::Reason> {
        let (file, mut connection) = open::open(config, patience)?;
        let readers = Readers::new(config.path.clone(), patience.reader)?;
        let board = Arc::new(Board::new(readers.open()?));
        let renewal = Renewal::of(&mut connection)?;
        let stand = Arc::clone(readers.stand());
        let writer = Writer::start(connection, renewal, Arc::clone(&board), stand)?;
        Ok(Self { readers, board, writer, _file: file })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
