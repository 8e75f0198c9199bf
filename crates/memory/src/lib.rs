//! The storage ports in memory: the smallest honest adapter.
//!
//! It keeps every promise of [`PetRepository`](petstore_domain::PetRepository),
//! [`ApiKeyRepository`](petstore_domain::ApiKeyRepository) and
//! [`Archive`](petstore_domain::Archive) but one: what is acknowledged lasts only
//! as long as the [`MemoryStore`]. So it is the store of tests and of the sandbox
//! `--store memory:`. A method takes one lock, does all its work and returns: it is atomic, it
//! never waits for anything else, and it never fails.

mod api_keys;
mod archive;
mod pets;
mod state;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::state::State;

/// A catalogue and its API keys, for as long as this value lives.
#[derive(Default)]
pub struct MemoryStore {
    /// Shared with the transactions of a restore, which may outlive this value.
    state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic elsewhere leaves the state whole: every method changes it only where it can no
    /// longer fail.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
