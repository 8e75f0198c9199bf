//! What the adapter drives.

use std::{fmt, sync::Arc};

use petstore_domain::{Authenticator, Clock, PetService};

/// What the adapter drives.
#[derive(Clone)]
pub struct Ports {
    /// The catalogue.
    pub pets: Arc<dyn PetService>,
    /// Who is calling.
    pub authenticator: Arc<dyn Authenticator>,
    /// For the sunset of getPet.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}
