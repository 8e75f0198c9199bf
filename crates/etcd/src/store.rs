//! The store that implements all ports, and its background tasks.

use std::{fmt, sync::Arc};

use petstore_storage::StoreTasks;

use crate::core::Core;

/// A catalogue and its API keys in etcd.
///
/// The store works within the tokio runtime in which it was opened. Dropping the store closes it; waiting additions are
/// still written while that runtime runs. [`Self::close`] waits for these additions.
pub struct EtcdStore {
    pub(crate) core: Arc<Core>,
    pub(crate) tasks: StoreTasks,
    pub(crate) reads_while_sealed: bool,
    pub(crate) was_created: bool,
}

impl EtcdStore {
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
