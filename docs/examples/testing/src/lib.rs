//! The worked example of `docs/MOCKS.md`: an adoption desk, which uses the catalogue.

use std::{fmt, sync::Arc};

use petstore_domain::{
    AddError, CursorPosition, Idempotency, NewPet, PageLimit, Pet, PetQuery, PetService, PetStatus,
    StoreError,
};

/// Takes animals in, and lists the animals that can be adopted.
pub struct AdoptionDesk {
    pets: Arc<dyn PetService>,
}

/// The reason why the desk refuses an animal.
#[derive(Debug)]
pub enum Refusal {
    /// An animal that is sold already needs no home.
    AlreadySold,
    /// The catalogue failed to add the animal.
    Catalogue(AddError),
}

impl AdoptionDesk {
    /// Creates a desk that uses this catalogue.
    #[must_use]
    pub fn new(pets: Arc<dyn PetService>) -> Self {
        Self { pets }
    }

    /// Enters an animal. `form` has the number of the animal's paper form. For a day, a second call with this number adds
    /// nothing.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn take_in(&self, pet: NewPet, form: Idempotency) -> Result<(), Refusal> {
        if pet.status == Some(PetStatus::Sold) {
            return Err(Refusal::AlreadySold);
        }
        self.pets.add(pet, Some(form)).await.map(drop).map_err(Refusal::Catalogue)
    }

    /// Returns every animal that can be adopted now, from all pages.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn waiting(&self) -> Result<Vec<Pet>, StoreError> {
        let limit = PageLimit::MAX;
        let mut query = PetQuery { limit, status: Some(PetStatus::Available), after: None };
        let mut waiting = Vec::new();
        loop {
            let page = self.pets.list(query).await?.value;
            let next = CursorPosition::following(&page, &query);
            waiting.extend(page.pets);
            match next {
                Some(position) => query.after = Some(position.after),
                None => return Ok(waiting),
            }
        }
    }

    /// Returns the text of the sign at the door.
    pub async fn sign(&self) -> String {
        match self.waiting().await {
            Ok(waiting) if waiting.is_empty() => "Nobody is waiting today.".to_owned(),
            Ok(waiting) => format!("{} waiting for you!", waiting.len()),
            Err(_) => "Please ask at the desk.".to_owned(),
        }
    }
}

impl fmt::Debug for AdoptionDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdoptionDesk").finish_non_exhaustive()
    }
}
