//! Driving port: the operations of the catalogue, which an adapter such as HTTP calls.

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

/// The operations of the catalogue. [`Catalogue`](crate::Catalogue) implements them.
///
/// # Contract
/// Operations are atomic, and an acknowledged addition is durable, as for
/// [`PetRepository`](crate::PetRepository).
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetService: Send + Sync {
    /// Returns one page of the catalogue (interface, section 4.1).
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError>;

    /// Adds an animal (interface, section 4.2), at most once in 24 hours for the same `idempotency`.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError>;

    /// Returns the animal `id`, or `None` if there is none (interface, section 4.3).
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError>;

    /// Returns the version of the catalogue: see [`PetRepository::version`](crate::PetRepository::version).
    fn version(&self) -> Option<CatalogueVersion>;
}
