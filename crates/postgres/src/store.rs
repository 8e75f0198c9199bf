//! The store: a pool for reads, one writing task, and a cache of the catalogue's version.

use std::{
    fmt,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use petstore_storage::{VersionCache, essential, watch};
use tokio::{task::JoinHandle, time};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Connection,
    pool::{Activity, Pool},
    version,
    writer::Writer,
};

/// How long closing may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What opening a store needs besides its URL.
#[derive(Clone, Debug, Default)]
pub struct PostgresSettings {
    /// Whether the tables are created if there are none.
    pub create: bool,
    /// Canceled when a task of the store has panicked: the one that writes, without which every addition fails, or
    /// the one that reads what other instances write. The program is to be restarted then.
    pub on_task_panic: CancellationToken,
}

/// A catalogue and its API keys in a PostgreSQL database.
///
/// It works within the tokio runtime in which it was opened. Dropping it closes it: what waits to
/// be written is still written as long as that runtime runs; [`Self::close`] waits for it.
pub struct PostgresStore {
    pub(crate) pool: Arc<Pool>,
    pub(crate) version: Arc<VersionCache>,
    pub(crate) writer: Writer,
    /// Whether reads go on while the store is sealed.
    pub(crate) reads_while_sealed: AtomicBool,
    /// What the last batch was written through: one batch mostly follows another.
    pub(crate) archive: Mutex<Option<Connection>>,
    was_created: bool,
    watching: JoinHandle<()>,
}

impl PostgresStore {
    /// Makes a store. `version` holds the version already, so that the first request has one.
    pub(crate) fn new(
        pool: Pool,
        version: VersionCache,
        was_created: bool,
        on_task_panic: &CancellationToken,
    ) -> Self {
        let (pool, version) = (Arc::new(pool), Arc::new(version));
        let (writer, writing) = Writer::new(Arc::clone(&pool), Arc::clone(&version));
        let watching = watch(Arc::clone(&version), version::reader(&pool));
        tokio::spawn(essential(on_task_panic.clone(), writing));
        let watching = tokio::spawn(essential(on_task_panic.clone(), watching));
        let reads_while_sealed = AtomicBool::new(false);
        let archive = Mutex::default();
        Self { pool, version, writer, reads_while_sealed, archive, was_created, watching }
    }

    /// Returns whether opening it has created its tables.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Returns how busy the store is.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.pool.activity()
    }

    /// Takes no more additions, and waits a bounded time until those that wait are written.
    /// `false` if that was not enough.
    pub async fn close(&self) -> bool {
        time::timeout(CLOSE_TIMEOUT, self.writer.close()).await.is_ok()
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
