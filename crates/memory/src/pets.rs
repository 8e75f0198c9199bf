//! [`PetRepository`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyDecision, IdempotencyRequest, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned,
};

use crate::store::MemoryStore;

#[async_trait]
impl PetRepository for MemoryStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let mut state = self.writable()?;
        let Some(request) = request else { return Ok(Added::Created(state.insert(pet)?)) };
        match request.decide(state.records.get(&request.id)) {
            IdempotencyDecision::Create => {
                let pet = state.insert(pet)?;
                state.records.insert(request.id, request.into_record(pet.id));
                Ok(Added::Created(pet))
            }
            IdempotencyDecision::Replay(id) => Ok(Added::Replayed(pet.with_id(id))),
            IdempotencyDecision::Reused => Err(AddError::IdempotencyKeyReused),
        }
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let state = self.readable()?;
        Ok(Versioned { value: state.pets.get(&id).cloned(), version: state.version() })
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let state = self.readable()?;
        let following = state.pets_after(query.after);
        let mut matching =
            following.filter(|pet| query.status.is_none() || pet.status == query.status);
        let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
        let value = PetPage { pets, more: matching.next().is_some() };
        Ok(Versioned { value, version: state.version() })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.state().version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let mut deleted = 0;
        self.writable()?.records.retain(|_, record| {
            let keep = record.at > cutoff || deleted == limit;
            deleted += u32::from(!keep);
            keep
        });
        Ok(Purged::up_to(limit, deleted))
    }
}
