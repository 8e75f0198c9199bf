//! [`PetRepository`] on the file.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyDecision, IdempotencyRequest, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned, WriterRole,
};

use crate::{
    line::Write,
    state::{Draft, State},
    store::FileStore,
};

#[async_trait]
impl PetRepository for FileStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer()?.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let (state, version) = self.readable()?;
        Ok(Versioned { value: state.pets.get(&id).cloned(), version })
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let (state, version) = self.readable()?;
        Ok(Versioned { value: page(&state, &query), version })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        let state = self.state();
        state.handover.phase.is_open().then_some(state.version)
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.write(move |draft| {
            draft.state.handover.permit_write(WriterRole::Service)?;
            let expired = draft.state.records.values().filter(|record| record.at <= cutoff);
            let purged: Vec<_> = expired.map(|it| it.id).take(limit as usize).collect();
            let count = u32::try_from(purged.len()).unwrap_or(limit);
            for id in purged {
                draft.write(Write::PurgedRecord(id));
            }
            Ok(Purged::up_to(limit, count))
        })
        .await
    }
}

/// Adds an animal: decides by the rule of the domain, then writes.
pub(crate) fn add(
    draft: &mut Draft,
    pet: NewPet,
    request: Option<IdempotencyRequest>,
) -> Result<Added, AddError> {
    draft.state.handover.permit_write(WriterRole::Service)?;
    let decision = request.map(|request| request.decide(draft.state.records.get(&request.id)));
    match decision.unwrap_or(IdempotencyDecision::Create) {
        IdempotencyDecision::Create => {}
        IdempotencyDecision::Replay(id) => return Ok(Added::Replayed(pet.with_id(id))),
        IdempotencyDecision::Reused => return Err(AddError::IdempotencyKeyReused),
    }
    let pet = pet.with_id(draft.state.next_pet()?);
    draft.write(Write::Pet(pet.clone()));
    if let Some(request) = request {
        draft.write(Write::Record(request.into_record(pet.id)));
    }
    Ok(Added::Created(pet))
}

fn page(state: &State, query: &PetQuery) -> PetPage {
    let after = query.after.map_or(Bound::Unbounded, Bound::Excluded);
    let following = state.pets.range((after, Bound::Unbounded)).map(|(_, pet)| pet);
    let mut matching = following.filter(|pet| query.status.is_none() || pet.status == query.status);
    let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
    PetPage { pets, more: matching.next().is_some() }
}
