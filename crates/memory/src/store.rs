//! The store: one state behind one lock.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use petstore_domain::{StoreError, Writer};

use crate::state::State;

/// A catalogue and its API keys, for as long as this value lives.
#[derive(Default)]
pub struct MemoryStore {
    /// Shared with the transactions of a restore, which may outlive this value.
    pub(crate) state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state, unless a move keeps services from writing.
    pub(crate) fn writable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        state.permit(Writer::Service)?;
        Ok(state)
    }

    /// A panic elsewhere leaves the state whole: every method changes it only where it can no
    /// longer fail.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
