//! [`PetRepository`] on the file.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};

use crate::{
    FileStore,
    line::{AttemptLine, Line, PetLine},
    state::State,
};

#[async_trait]
impl PetRepository for FileStore {
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.write(move |state| {
            if let Some(before) = repeated(state, attempt.as_ref())? {
                return Ok((Added::Replayed(before), None));
            }
            let pet = pet.with_id(state.next_pet());
            let attempt = attempt.as_ref().map(AttemptLine::from);
            let line = Line::Pet { pet: PetLine::from(&pet), attempt };
            Ok((Added::Created(pet), Some(line)))
        })
        .await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        let state = self.state();
        let version = Some(state.version());
        Ok(state.pets.get(&id).map(|pet| Versioned { value: pet.clone(), version }))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let state = self.state();
        Ok(Versioned { value: page(&state, &query), version: Some(state.version()) })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        Some(self.state().version())
    }

    async fn purge_expired(&self, expired: Timestamp, at_most: u32) -> Result<u32, StoreError> {
        self.write(move |state| {
            let old = state.attempts.iter().filter(|(_, record)| record.at <= expired);
            let keys = old.map(|((caller, key), _)| (*caller, key.clone()));
            let forgotten: Vec<_> = keys.take(at_most as usize).collect();
            let count = u32::try_from(forgotten.len()).unwrap_or(at_most);
            Ok((count, (count > 0).then_some(Line::Forgotten(forgotten))))
        })
        .await
    }
}

/// The animal that an earlier attempt has added, if there was one that still counts.
fn repeated(state: &State, attempt: Option<&IdempotencyRequest>) -> Result<Option<Pet>, AddError> {
    let Some(attempt) = attempt else { return Ok(None) };
    let key = (attempt.idempotency.caller.0, attempt.idempotency.key.as_str().to_owned());
    let record = state.attempts.get(&key).filter(|record| record.at > attempt.cutoff);
    match record {
        Some(record) if record.fingerprint != attempt.fingerprint => {
            Err(AddError::IdempotencyKeyReused)
        }
        Some(record) => Ok(state.pets.get(&record.pet).cloned()),
        None => Ok(None),
    }
}

fn page(state: &State, query: &PetQuery) -> PetPage {
    let after = query.after.map_or(Bound::Unbounded, Bound::Excluded);
    let behind = state.pets.range((after, Bound::Unbounded)).map(|(_, pet)| pet);
    let mut matching = behind.filter(|pet| query.status.is_none() || pet.status == query.status);
    let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
    PetPage { pets, more: matching.next().is_some() }
}
