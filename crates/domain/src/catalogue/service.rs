//! Driving port: the operations of the catalogue, which an adapter such as HTTP calls. [`Catalogue`] implements them.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    catalogue::{
        idempotency::{Idempotency, IdempotencyKey, IdempotencyRequest},
        page::{PetPage, PetQuery},
        pet::{NewPet, Pet, PetId},
        repository::{AddError, Added, CatalogueVersion, PetRepository, Versioned},
    },
    clock::Clock,
    error::StoreError,
};

/// The largest number of expired idempotency records that one transaction deletes, so that additions do not wait long
/// for a purge.
const PURGE_BATCH: u32 = 500;
/// The time for which expired records are kept, because the clock of another instance may be behind.
const PURGE_MARGIN: Duration = Duration::from_hours(1);

/// The operations of the catalogue.
///
/// # Contract
/// Operations are atomic, and an acknowledged addition is durable, as for [`PetRepository`].
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetService: Send + Sync {
    /// Returns one page of the catalogue (`docs/INTERFACE.md`, "Listing").
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError>;

    /// Adds an animal (`docs/INTERFACE.md`, "Adding"), at most once in 24 hours for the same `idempotency`.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError>;

    /// Returns the animal `id`, or `None` if there is none (`docs/INTERFACE.md`, "Fetching an animal
    /// (deprecated)").
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError>;

    /// Returns the version of the catalogue: see [`PetRepository::version`].
    fn version(&self) -> Option<CatalogueVersion>;
}

/// The catalogue of animals: [`PetService`] over a repository and a clock.
pub struct Catalogue {
    pets: Arc<dyn PetRepository>,
    clock: Arc<dyn Clock>,
}

impl Catalogue {
    /// Makes the catalogue of a repository.
    #[must_use]
    pub fn new(pets: Arc<dyn PetRepository>, clock: Arc<dyn Clock>) -> Self {
        Self { pets, clock }
    }

    /// Deletes one batch of the idempotency records that expired at least an hour ago. Returns `true` if more such
    /// records may be left.
    ///
    /// # Errors
    /// [`StoreError`]; the caller may retry later.
    pub async fn purge_expired_records(&self) -> Result<bool, StoreError> {
        let cutoff = IdempotencyKey::cutoff(self.clock.now()).minus(PURGE_MARGIN);
        Ok(self.pets.purge_expired(cutoff, PURGE_BATCH).await?.more)
    }
}

#[async_trait]
impl PetService for Catalogue {
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.pets.list(query).await
    }

    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError> {
        let request = idempotency
            .map(|idempotency| IdempotencyRequest::new(idempotency.id(), &pet, self.clock.now()));
        self.pets.add(pet, request).await
    }

    async fn get(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        self.pets.find(id).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.pets.version()
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mockall::predicate::eq;

    use super::{Catalogue, PURGE_BATCH};
    use crate::{
        Added, CatalogueVersion, Fingerprint, ManualClock, MockPetRepository, PetId, PetService,
        Purged, Timestamp,
        mocks::{idempotency, new_pet},
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const AN_HOUR: i64 = 3_600_000;
    const A_DAY: i64 = 24 * AN_HOUR;

    fn catalogue(pets: MockPetRepository) -> Catalogue {
        Catalogue::new(Arc::new(pets), Arc::new(ManualClock::new(NOW)))
    }

    #[tokio::test]
    async fn the_request_of_an_addition_has_a_cutoff_24_hours_ago() {
        let idempotency = idempotency("once");
        let expected = idempotency.id();
        let mut pets = MockPetRepository::new();
        pets.expect_add()
            .once()
            .withf(move |pet, request| {
                let request = request.as_ref().unwrap();
                request.id == expected
                    && request.fingerprint == Fingerprint::new(pet)
                    && request.at == NOW
                    && request.cutoff == Timestamp(NOW.0 - A_DAY)
            })
            .returning(|pet, _| Ok(Added::Replayed(pet.with_id(PetId(9)))));

        let added = catalogue(pets).add(new_pet("Rex"), Some(idempotency)).await.unwrap();
        assert_eq!(added, Added::Replayed(new_pet("Rex").with_id(PetId(9))));
    }

    #[test]
    fn the_version_is_the_version_of_the_repository() {
        let mut pets = MockPetRepository::new();
        pets.expect_version().return_const(Some(CatalogueVersion(7)));
        assert_eq!(catalogue(pets).version(), Some(CatalogueVersion(7)));
    }

    #[tokio::test]
    async fn records_are_purged_one_hour_after_their_expiry() {
        for (deleted, more) in [(PURGE_BATCH, true), (3, true), (3, false), (0, false)] {
            let mut pets = MockPetRepository::new();
            pets.expect_purge_expired()
                .once()
                .with(eq(Timestamp(NOW.0 - A_DAY - AN_HOUR)), eq(PURGE_BATCH))
                .returning(move |_, _| Ok(Purged { deleted, more }));
            assert_eq!(catalogue(pets).purge_expired_records().await.unwrap(), more);
        }
    }
}
