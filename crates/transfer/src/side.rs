//! One of the two stores.

use std::{fmt, sync::Arc};

use petstore_domain::{Archive, Handover, KeyStore, PetRepository};

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

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side").field("label", &self.label).finish_non_exhaustive()
    }
}
