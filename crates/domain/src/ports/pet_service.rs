//! Driving port: what an adapter such as HTTP asks of the catalogue.

use async_trait::async_trait;

use crate::{
    AddError, Added, CatalogueVersion, Idempotency, NewPet, Pet, PetId, PetPage, PetQuery,
    ReadError, Versioned,
};

/// The catalogue's operations. Implemented by [`Catalogue`](crate::Catalogue).
///
/// # Contract
/// As for [`PetRepository`](crate::PetRepository): atomic, acknowledged is durable.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetService: Send + Sync {
    /// One page of the catalogue (interface, section 4.1).
    ///
    /// # Errors
    /// [`ReadError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, ReadError>;

    /// Adds an animal (section 4.2), at most once for one `idempotency` within 24 hours.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError>;

    /// The animal `id`, or `None` if there is none (section 4.3).
    ///
    /// # Errors
    /// [`ReadError`].
    async fn get(&self, id: PetId) -> Result<Option<Versioned<Pet>>, ReadError>;

    /// The mark of the catalogue's state, see
    /// [`PetRepository::version`](crate::PetRepository::version).
    fn version(&self) -> Option<CatalogueVersion>;
}
