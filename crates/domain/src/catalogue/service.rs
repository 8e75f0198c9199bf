//! Driving port: the operations of the catalogue, for an adapter such as HTTP.

use async_trait::async_trait;

use crate::{
    catalogue::{
        idempotency::Idempotency,
        page::{PetPage, PetQuery},
        pet::{NewPet, Pet, PetId},
        repository::{AddError, Added, CatalogueVersion, Versioned},
    },
    error::StoreError,
};

/// The catalogue's operations. Implemented by [`Catalogue`](crate::Catalogue).
///
/// # Contract
/// As for [`PetRepository`](crate::PetRepository): atomic, acknowledged is durable.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetService: Send + Sync {
    /// Returns one page of the catalogue (interface, section 4.1).
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError>;

    /// Adds an animal (interface, section 4.2), at most once for one `idempotency` within 24 hours.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError>;

    /// Returns the animal `id`, or `None` if there is none (interface, section 4.3).
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError>;

    /// Returns the version of the catalogue, see
    /// [`PetRepository::version`](crate::PetRepository::version).
    fn version(&self) -> Option<CatalogueVersion>;
}
