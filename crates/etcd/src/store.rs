//! The store: one value behind all ports, and its background tasks.

use std::{fmt, sync::Arc, time::Duration};

use petstore_storage::StoreTasks;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{core::Core, writer};

/// The time limit of one read of the version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a store beside its URL.
#[derive(Clone, Debug, Default)]
pub struct EtcdSettings {
    /// `true` if a store is made if there is none.
    pub create: bool,
    /// `true` if animals are read, without a version, while the store is sealed.
    pub reads_while_sealed: bool,
    /// Canceled when a task of the store has panicked: the writing task, without which every addition fails, or the one
    /// that reads the version. The program must then be restarted.
    pub on_task_panic: CancellationToken,
}

/// A catalogue and its API keys in etcd.
///
/// It works within the tokio runtime in which it was opened. Dropping it closes it: additions that wait are still
/// written while that runtime runs. [`Self::close`] waits for them.
pub struct EtcdStore {
    pub(crate) core: Arc<Core>,
    pub(crate) tasks: StoreTasks,
    was_created: bool,
}

impl EtcdStore {
    pub(crate) fn new(core: Core, was_created: bool, on_task_panic: &CancellationToken) -> Self {
        let core = Arc::new(core);
        let limits = (core.max_ops().rows(), Some(core.client.call_timeout));
        let (writing, reading) = (Arc::clone(&core), Arc::clone(&core));
        // In a minority of the nodes nothing is read, so no version is given: reads need most nodes.
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

    /// Returns whether opening the store has made it.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Returns the number of additions that wait for a transaction.
    #[must_use]
    pub fn waiting_additions(&self) -> usize {
        self.tasks.writer.waiting()
    }

    /// Takes no more additions, and waits up to 5 seconds until those that wait are written. Returns whether they are.
    pub async fn close(&self) -> bool {
        self.tasks.close().await
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").finish_non_exhaustive()
    }
}
