//! The store: a pool, one writing task, and the board that shows the catalogue's mark.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{task::JoinHandle, time};

use crate::{
    OpenError, PostgresConfig,
    board::{self, Board},
    connector::Connector,
    open::{self, Opened},
    pool::Pool,
    schema::IfMissing,
    writer::Writer,
};

/// How long closing may take.
const CLOSING: Duration = Duration::from_secs(5);

/// A catalogue and its API keys in a PostgreSQL database.
///
/// It works within the tokio runtime in which it was opened. Dropping it closes it: what waits to
/// be written is still written as long as that runtime runs; [`Self::close`] waits for it.
pub struct PostgresStore {
    pub(crate) connector: Arc<Connector>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) board: Arc<Board>,
    pub(crate) writer: Writer,
    writing: Mutex<Option<JoinHandle<()>>>,
    watching: JoinHandle<()>,
}

impl PostgresStore {
    /// Connects, and brings the tables to the newest schema; makes them if there are none.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to mend it.
    pub async fn connect(config: &PostgresConfig) -> Result<Self, OpenError> {
        Ok(Self::over(open::open(config, IfMissing::Create).await?))
    }

    /// As [`Self::connect`], but makes no tables where there are none.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store yet.
    pub async fn connect_existing(config: &PostgresConfig) -> Result<Self, OpenError> {
        Ok(Self::over(open::open(config, IfMissing::Refuse).await?))
    }

    fn over(opened: Opened) -> Self {
        let Opened { connector, seen, began } = opened;
        let board = Arc::new(Board::new());
        if let Some(seen) = seen {
            board.show(seen, began);
        }
        let (writer, writing) = Writer::start(Arc::clone(&connector), Arc::clone(&board));
        let watching = tokio::spawn(board::watch(Arc::clone(&board), Arc::clone(&connector)));
        let pool = Arc::new(Pool::new(Arc::clone(&connector)));
        Self { connector, pool, board, writer, writing: Mutex::new(Some(writing)), watching }
    }

    /// Takes no more additions, and waits a bounded time until those that wait are written.
    /// `false` if that was not enough.
    pub async fn close(&self) -> bool {
        self.writer.close();
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
        match writing {
            Some(task) => time::timeout(CLOSING, task).await.is_ok(),
            None => true,
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
