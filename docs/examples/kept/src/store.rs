//! The store: one state behind one lock.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use petstore_domain::{CatalogueVersion, Phase, StoreError, Writer};

use crate::state::State;

/// A catalogue and its API keys, for as long as this value lives.
#[derive(Default)]
pub struct KeptStore {
    state: Mutex<State>,
    /// Whether reads go on while the store is sealed.
    pub(crate) reads_while_sealed: AtomicBool,
}

impl KeptStore {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the state, unless services must not write.
    pub(crate) fn writable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        state.handover.permit(Writer::Service)?;
        Ok(state)
    }

    /// Returns the state, unless services must not read, and the version; `None` while the store is sealed.
    pub(crate) fn readable(
        &self,
    ) -> Result<(MutexGuard<'_, State>, Option<CatalogueVersion>), StoreError> {
        let state = self.state();
        let goes_on = self.reads_while_sealed.load(Ordering::Relaxed)
            && matches!(state.handover.phase, Phase::Sealed { .. });
        match state.handover.permit(Writer::Service) {
            Err(_) if goes_on => Ok((state, None)),
            permitted => permitted.map(|()| {
                let version = state.version();
                (state, version)
            }),
        }
    }

    /// Locks the state. A panic elsewhere leaves the state whole: every method changes it only where it can no
    /// longer fail.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeptStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptStore").finish_non_exhaustive()
    }
}
