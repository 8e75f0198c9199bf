//! The catalogue: [`PetService`] over [`PetRepository`] and [`Clock`].

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{
    AddError, Added, CatalogueVersion, Clock, Idempotency, IdempotencyAttempt, IdempotencyKey,
    NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, PetService, ReadError, Unavailable,
    Versioned,
};

/// The catalogue of animals.
pub struct Catalogue {
    pets: Arc<dyn PetRepository>,
    clock: Arc<dyn Clock>,
}

impl Catalogue {
    /// How many expired idempotency records are forgotten in one transaction, so that no addition
    /// waits long for it.
    pub const FORGET_BATCH: u32 = 500;

    /// The catalogue that `pets` keeps.
    #[must_use]
    pub fn new(pets: Arc<dyn PetRepository>, clock: Arc<dyn Clock>) -> Self {
        Self { pets, clock }
    }

    /// Forgets one batch of idempotency records that no longer count; `true` if there may be more.
    ///
    /// # Errors
    /// [`Unavailable`]; nothing depends on it, so the caller may simply try again later.
    pub async fn forget_expired_attempts(&self) -> Result<bool, Unavailable> {
        let expired = self.clock.now().minus(IdempotencyKey::LIFETIME);
        let forgotten = self.pets.forget_attempts(expired, Self::FORGET_BATCH).await?;
        Ok(forgotten == Self::FORGET_BATCH)
    }
}

#[async_trait]
impl PetService for Catalogue {
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, ReadError> {
        self.pets.list(query).await
    }

    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError> {
        let attempt = idempotency
            .map(|idempotency| IdempotencyAttempt::new(idempotency, &pet, self.clock.now()));
        self.pets.add(pet, attempt).await
    }

    async fn get(&self, id: PetId) -> Result<Option<Versioned<Pet>>, ReadError> {
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

    use super::Catalogue;
    use crate::{
        AddError, Added, CategoryId, Fingerprint, Idempotency, IdempotencyKey, KeyDigest,
        ManualClock, MockPetRepository, NewPet, PetId, PetName, PetService, ReadError, Timestamp,
        Unavailable,
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const A_DAY: i64 = 86_400_000;

    fn catalogue(pets: MockPetRepository) -> Catalogue {
        Catalogue::new(Arc::new(pets), Arc::new(ManualClock::at(NOW)))
    }

    fn rex() -> NewPet {
        NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
    }

    #[tokio::test]
    async fn an_attempt_counts_for_24_hours_from_now() {
        let idempotency =
            Idempotency { caller: KeyDigest([1; 32]), key: IdempotencyKey::parse("once").unwrap() };
        let expected = idempotency.clone();
        let mut pets = MockPetRepository::new();
        pets.expect_add()
            .once()
            .withf(move |pet, attempt| {
                let attempt = attempt.as_ref().unwrap();
                attempt.idempotency == expected
                    && attempt.fingerprint == Fingerprint::of(pet)
                    && attempt.at == NOW
                    && attempt.expired == Timestamp(NOW.0 - A_DAY)
            })
            .returning(|pet, _| Ok(Added::Before(pet.with_id(PetId(9)))));

        let added = catalogue(pets).add(rex(), Some(idempotency)).await.unwrap();
        assert_eq!(added, Added::Before(rex().with_id(PetId(9))));
    }

    #[tokio::test]
    async fn without_an_idempotency_key_there_is_no_attempt() {
        let mut pets = MockPetRepository::new();
        pets.expect_add()
            .once()
            .with(eq(rex()), eq(None))
            .returning(|pet, _| Ok(Added::Now(pet.with_id(PetId(1)))));
        catalogue(pets).add(rex(), None).await.unwrap();
    }

    #[tokio::test]
    async fn a_failing_store_is_told_as_it_is() {
        let mut pets = MockPetRepository::new();
        pets.expect_find().once().returning(|_| Err(Unavailable::new("the disk is gone").into()));
        pets.expect_add().once().returning(|_, _| Err(AddError::IdempotencyKeyReused));
        let catalogue = catalogue(pets);

        let refusal = catalogue.get(PetId(1)).await.unwrap_err();
        assert!(matches!(&refusal, ReadError::Unavailable(_)));
        assert_eq!(refusal.to_string(), "the store cannot answer: the disk is gone");
        assert!(matches!(catalogue.add(rex(), None).await, Err(AddError::IdempotencyKeyReused)));
    }

    #[tokio::test]
    async fn a_full_batch_of_expired_attempts_means_there_may_be_more() {
        for (forgotten, more) in [(Catalogue::FORGET_BATCH, true), (3, false), (0, false)] {
            let mut pets = MockPetRepository::new();
            pets.expect_forget_attempts()
                .once()
                .with(eq(Timestamp(NOW.0 - A_DAY)), eq(Catalogue::FORGET_BATCH))
                .returning(move |_, _| Ok(forgotten));
            assert_eq!(catalogue(pets).forget_expired_attempts().await.unwrap(), more);
        }
    }
}
