//! Handing a store over to another one while services use it (`docs/MOVING.md`).
//!
//! [`Mover`] is the command: it copies, follows what is added meanwhile, seals the old store, copies the rest,
//! compares, and opens the new one. It alone changes the state of a store. [`NextStore`] is what a service has that
//! was started with a next store: the storage ports over two stores. Both know stores by their ports alone.

mod error;
mod mover;
mod next_store;

use std::sync::Arc;

use petstore_domain::{Archive, Handover, KeyStore, PetRepository};

pub use self::{
    error::MoveError,
    mover::{Mover, cancel, release},
    next_store::{NextStore, OpenNext},
};

/// The ports of one of the two stores.
#[derive(Clone)]
pub struct Side {
    /// Animals.
    pub pets: Arc<dyn PetRepository>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// The store as a whole.
    pub archive: Arc<dyn Archive>,
    /// Whether it takes writes.
    pub handover: Arc<dyn Handover>,
    /// Its URL without the password, to be shown.
    pub label: String,
}

impl std::fmt::Debug for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").field("label", &self.label).finish_non_exhaustive()
    }
}
