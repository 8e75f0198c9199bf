//! The store: one state behind one lock.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use petstore_domain::{CatalogueVersion, StoreError, WriterRole};

use crate::state::State;

/// A handle of a catalogue and its API keys, which last as long as one of their handles.
#[derive(Default)]
pub struct KeptStore {
    state: Arc<Mutex<State>>,
    reads_while_sealed: bool,
}

impl KeptStore {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns another handle of the same store, with or without reads
    /// [while it is sealed](petstore_domain::Handover).
    #[must_use]
    pub fn handle(&self, reads_while_sealed: bool) -> Self {
        Self { state: Arc::clone(&self.state), reads_while_sealed }
    }

    /// Locks the state for a write of a service.
    pub(crate) fn writable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        state.handover.permit_write(WriterRole::Service)?;
        Ok(state)
    }

    /// Locks the state for a read of animals, and returns its version; `None` while the store is
    /// sealed.
    pub(crate) fn readable(
        &self,
    ) -> Result<(MutexGuard<'_, State>, Option<CatalogueVersion>), StoreError> {
        let state = self.state();
        state.handover.permit_read(self.reads_while_sealed)?;
        let version = state.version();
        Ok((state, version))
    }

    /// Locks the state. A panic elsewhere leaves the state whole: every method changes it only where
    /// it can no longer fail.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeptStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptStore").finish_non_exhaustive()
    }
}
