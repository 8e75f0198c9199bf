//! The ports of one of two stores.

use std::{fmt, sync::Arc, time::Duration};

use petstore_domain::{Archive, Handover, KeyStore, PetRepository, StoreError};
use tokio::time::timeout;

/// The ports of the source or the target of a handover.
#[derive(Clone)]
pub struct StorePorts {
    /// Animals.
    pub pets: Arc<dyn PetRepository>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// The store as a whole.
    pub archive: Arc<dyn Archive>,
    /// The state of the store.
    pub handover: Arc<dyn Handover>,
    /// The URL of the store without its password, for messages.
    pub label: String,
}

impl fmt::Debug for StorePorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorePorts").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Waits for the answer of a store up to `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(limit, call).await.unwrap_or_else(|error| Err(StoreError::unavailable(error)))
}
