//! The store that implements all ports: a connection pool, and the background tasks.

use std::{fmt, sync::Arc};

use petstore_storage::StoreTasks;

use crate::pool::{Activity, Pool};

/// A catalogue and its API keys in a PostgreSQL database.
///
/// The store works within the tokio runtime in which it was opened. Dropping the store closes it; waiting additions are
/// still written while the runtime runs. [`Self::close`] waits for these additions.
pub struct PostgresStore {
    pub(crate) pool: Arc<Pool>,
    pub(crate) tasks: StoreTasks,
    pub(crate) reads_while_sealed: bool,
    pub(crate) was_created: bool,
}

impl PostgresStore {
    /// Returns whether opening this store created the tables.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Returns the load of the connection pool.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.pool.activity()
    }

    /// Refuses further additions, and waits up to 5 seconds until all waiting additions are written. Returns whether
    /// all were written.
    pub async fn close(&self) -> bool {
        self.tasks.close().await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
