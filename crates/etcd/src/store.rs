//! The store: what all ports use, one writing task, and the task that reads the catalogue's version.

use std::{fmt, sync::Arc, time::Duration};

use petstore_storage::{essential, watch};
use tokio::{
    task::JoinHandle,
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use crate::{core::Core, writer::Writer};

/// How long closing may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// A read of the version that takes longer is of no use.
const VERSION_TIMEOUT: Duration = Duration::from_secs(1);

/// What opening a store needs besides its URL.
#[derive(Clone, Debug, Default)]
pub struct EtcdSettings {
    /// Whether a store is made if there is none.
    pub create: bool,
    /// Canceled when a task of the store has panicked: the one that writes, without which every addition fails, or
    /// the one that reads what other instances write. The program is to be restarted then.
    pub on_task_panic: CancellationToken,
}

/// A catalogue and its API keys in etcd.
///
/// It works within the tokio runtime in which it was opened. Dropping it closes it: what waits to
/// be written is still written as long as that runtime runs; [`Self::close`] waits for it.
pub struct EtcdStore {
    pub(crate) core: Arc<Core>,
    pub(crate) writer: Writer,
    was_created: bool,
    watching: JoinHandle<()>,
}

impl EtcdStore {
    pub(crate) fn new(core: Core, was_created: bool, on_task_panic: &CancellationToken) -> Self {
        let core = Arc::new(core);
        let (writer, writing) = Writer::new(Arc::clone(&core));
        tokio::spawn(essential(on_task_panic.clone(), writing));
        let reading = Arc::clone(&core);
        // In a minority that is cut off, nothing is read, and no version is given: a linearizable read needs most nodes.
        let watching = watch(Arc::clone(&core.version), move || {
            let core = Arc::clone(&reading);
            async move {
                let view = core.read(&[], Instant::now() + VERSION_TIMEOUT).await.ok()?;
                Some(view.stored_version())
            }
        });
        let watching = tokio::spawn(essential(on_task_panic.clone(), watching));
        Self { core, writer, was_created, watching }
    }

    /// Returns whether opening it has made it.
    #[must_use]
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Returns how many additions wait for a transaction.
    #[must_use]
    pub fn waiting_additions(&self) -> usize {
        self.writer.waiting()
    }

    /// Takes no more additions, and waits a bounded time until those that wait are written.
    /// `false` if that was not enough.
    pub async fn close(&self) -> bool {
        time::timeout(CLOSE_TIMEOUT, self.writer.close()).await.is_ok()
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").finish_non_exhaustive()
    }
}
