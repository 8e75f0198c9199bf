//! The store that implements all ports, and its background tasks.

use std::{fmt, sync::Arc, time::Duration};

use petstore_storage::StoreTasks;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{core::Core, writer};

/// The time limit of one read of the version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(1);

/// A catalogue and its API keys in etcd.
///
/// The store works within the tokio runtime in which it was opened. Dropping the store closes it; waiting additions are
/// still written while that runtime runs. [`Self::close`] waits for these additions.
pub struct EtcdStore {
    pub(crate) core: Arc<Core>,
    pub(crate) tasks: StoreTasks,
    was_created: bool,
}

impl EtcdStore {
    pub(crate) fn new(core: Core, was_created: bool, on_task_panic: &CancellationToken) -> Self {
        let core = Arc::new(core);
        let limits = (core.max_ops().rows(), Some(core.client.config.call_timeout));
        let (writing, reading) = (Arc::clone(&core), Arc::clone(&core));
        // A node without a majority answers no read, so an instance on its side soon has no version.
        let read = move || {
            let core = Arc::clone(&reading);
            async move {
                let read = core.read(&[], Instant::now() + VERSION_TIMEOUT).await.ok()?;
                Some(read.stored_version())
            }
        };
        let write = |jobs| writer::run(writing, jobs);
        let version = Arc::clone(&core.version);
        let tasks = StoreTasks::spawn(on_task_panic, version, limits, write, read);
        Self { core, tasks, was_created }
    }

    /// Returns whether this call of `open` created the store.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Returns the number of additions that wait for a transaction.
    #[must_use]
    pub fn waiting_additions(&self) -> usize {
        self.tasks.writer.waiting()
    }

    /// Refuses further additions, and waits up to 5 seconds until all waiting additions are written. Returns whether
    /// all were written.
    pub async fn close(&self) -> bool {
        self.tasks.close().await
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").finish_non_exhaustive()
    }
}
