//! The store: a pool for reads, one writing task, and a cache of the catalogue's version.

use std::{fmt, sync::Arc};

use petstore_storage::{StoreTasks, VersionCache};
use tokio_util::sync::CancellationToken;

use crate::{
    pool::{Activity, Pool},
    version,
    writer::{self, MAX_GROUP},
};

/// The settings of a store besides its URL.
#[derive(Clone, Debug, Default)]
pub struct PostgresSettings {
    /// `true` if the tables are created if there are none.
    pub create: bool,
    /// `true` if animals are read while the store is sealed.
    pub reads_while_sealed: bool,
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
    pub(crate) tasks: StoreTasks,
    pub(crate) reads_while_sealed: bool,
    was_created: bool,
}

impl PostgresStore {
    /// Makes a store. `version` holds the version already, so that the first request has one.
    pub(crate) fn new(
        pool: Pool,
        version: VersionCache,
        was_created: bool,
        settings: &PostgresSettings,
    ) -> Self {
        let (pool, version) = (Arc::new(pool), Arc::new(version));
        let (writers, readers) = (Arc::clone(&pool), Arc::clone(&pool));
        let observed = Arc::clone(&version);
        let tasks = StoreTasks::spawn(
            &settings.on_task_panic,
            version,
            (MAX_GROUP, Some(pool.config().call_timeout)),
            |jobs| writer::run(writers, observed, jobs),
            move || version::read(Arc::clone(&readers)),
        );
        Self { pool, tasks, reads_while_sealed: settings.reads_while_sealed, was_created }
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
        self.tasks.close().await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
