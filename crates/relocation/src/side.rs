//! One of the two stores of a move.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{KeyStore, PetRepository, Relocatable, StoreError};

/// An open store that can be moved.
#[derive(Clone)]
pub struct Side {
    /// The animals.
    pub pets: Arc<dyn PetRepository>,
    /// The API keys.
    pub keys: Arc<dyn KeyStore>,
    /// Its part in a move.
    pub relocation: Arc<dyn Relocatable>,
}

impl Side {
    /// The ports of one store.
    pub fn new<S: PetRepository + KeyStore + Relocatable + 'static>(store: Arc<S>) -> Self {
        Self { pets: store.clone(), keys: store.clone(), relocation: store }
    }
}

/// Opens the other store of a move.
#[async_trait]
pub trait OpenSide: Send + Sync {
    /// The store at `url`, which must exist.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn open(&self, url: &str) -> Result<Side, StoreError>;

    /// The URL without its password, for the log.
    fn shown(&self, url: &str) -> String;
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side").finish_non_exhaustive()
    }
}
