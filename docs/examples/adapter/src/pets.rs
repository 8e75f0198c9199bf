//! [`PetRepository`] on the file.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyDecision, IdempotencyRequest, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned,
};

use crate::{
    line::{Line, PetLine, RecordLine},
    state::State,
    store::FileStore,
};

#[async_trait]
impl PetRepository for FileStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.write(move |state| {
            match request.as_ref().map_or(IdempotencyDecision::Create, |it| decide(state, it)) {
                IdempotencyDecision::Create => {}
                IdempotencyDecision::Replay(id) => {
                    return Ok((Added::Replayed(recorded(state, id)?), None));
                }
                IdempotencyDecision::Reused => return Err(AddError::IdempotencyKeyReused),
            }
            let pet = pet.with_id(state.next_pet()?);
            let record = request.map(|request| RecordLine::from(&request.into_record(pet.id)));
            let line = Line::Pet { pet: PetLine::from(&pet), record };
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

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.write(move |state| {
            let expired = state.records.iter().filter(|(_, record)| record.at <= cutoff);
            let purged: Vec<_> = expired.map(|(id, _)| id.0).take(limit as usize).collect();
            let count = u32::try_from(purged.len()).unwrap_or(limit);
            Ok((Purged::up_to(limit, count), (count > 0).then_some(Line::Purged(purged))))
        })
        .await
    }
}

/// What the request comes to, by the record that is stored under its id.
fn decide(state: &State, request: &IdempotencyRequest) -> IdempotencyDecision {
    let record = state.records.get(&request.id);
    request.decide(record.map(|record| (record.fingerprint, record.pet, record.at)))
}

/// The animal of a record.
fn recorded(state: &State, id: PetId) -> Result<Pet, StoreError> {
    let missing =
        || StoreError::corrupt(format_args!("an idempotency record of animal {id}"), "it exists");
    state.pets.get(&id).cloned().ok_or_else(missing)
}

fn page(state: &State, query: &PetQuery) -> PetPage {
    let after = query.after.map_or(Bound::Unbounded, Bound::Excluded);
    let following = state.pets.range((after, Bound::Unbounded)).map(|(_, pet)| pet);
    let mut matching = following.filter(|pet| query.status.is_none() || pet.status == query.status);
    let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
    PetPage { pets, more: matching.next().is_some() }
}
