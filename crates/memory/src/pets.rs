//! [`PetRepository`] in memory.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyAttempt, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, ReadError, Timestamp, Unavailable, Versioned,
};

use crate::{
    MemoryStore,
    state::{Attempt, State, next_id},
};

#[async_trait]
impl PetRepository for MemoryStore {
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyAttempt>,
    ) -> Result<Added, AddError> {
        let mut state = self.state();
        let Some(attempt) = attempt else { return Ok(Added::Now(insert(&mut state, pet)?)) };
        let IdempotencyAttempt { idempotency, fingerprint, at, expired } = attempt;
        let key = (idempotency.caller, idempotency.key);
        if let Some(record) = state.attempts.get(&key).filter(|record| record.at > expired) {
            if record.fingerprint != fingerprint {
                return Err(AddError::IdempotencyKeyReused);
            }
            return Ok(Added::Before(record.pet.clone()));
        }
        let pet = insert(&mut state, pet)?;
        state.attempts.insert(key, Attempt { fingerprint, pet: pet.clone(), at });
        Ok(Added::Now(pet))
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, ReadError> {
        let state = self.state();
        let version = Some(state.version());
        Ok(state.pets.get(&id).map(|pet| Versioned { value: pet.clone(), version }))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, ReadError> {
        let state = self.state();
        Ok(Versioned { value: page(&state, &query), version: Some(state.version()) })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        Some(self.state().version())
    }

    async fn forget_attempts(&self, expired: Timestamp, at_most: u32) -> Result<u32, Unavailable> {
        let mut forgotten = 0;
        self.state().attempts.retain(|_, record| {
            let keep = record.at > expired || forgotten == at_most;
            forgotten += u32::from(!keep);
            keep
        });
        Ok(forgotten)
    }
}

pub(crate) fn insert(state: &mut State, pet: NewPet) -> Result<Pet, Unavailable> {
    let highest = state.pets.last_key_value().map(|(id, _)| id.0);
    let pet = pet.with_id(PetId(next_id(highest)?));
    state.pets.insert(pet.id, pet.clone());
    Ok(pet)
}

fn page(state: &State, query: &PetQuery) -> PetPage {
    let after = query.after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut matching = state
        .pets
        .range((after, Bound::Unbounded))
        .map(|(_, pet)| pet)
        .filter(|pet| query.status.is_none() || pet.status == query.status);
    let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
    PetPage { pets, more: matching.next().is_some() }
}
