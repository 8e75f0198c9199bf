//! The store: a state behind a lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use petstore_domain::{PetId, StoreError, WriterRole};

use crate::state::State;

/// A handle of a catalogue and its API keys. Dropping the last handle drops the data.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    reads_while_sealed: bool,
}

impl MemoryStore {
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

    /// Deletes an animal. No port deletes animals: in other stores, an operator deletes them, for example with SQL.
    /// Returns whether the animal existed.
    #[must_use]
    pub fn delete_pet(&self, id: PetId) -> bool {
        let mut state = self.state();
        let deleted = state.pets.remove(&id).is_some();
        state.version.0 += u128::from(deleted);
        state.handover.rewrites += i64::from(deleted);
        deleted
    }

    /// Locks the state for a write of a service. Fails if the store is not open.
    pub(crate) fn writable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        state.handover.permit_write(WriterRole::Service)?;
        Ok(state)
    }

    /// Locks the state for a read of animals. Fails if the phase of the store permits no reads.
    pub(crate) fn readable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        state.handover.permit_read(self.reads_while_sealed)?;
        Ok(state)
    }

    /// Locks the state. The state is valid even after a panic, because methods change it only where they can no longer
    /// fail.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
