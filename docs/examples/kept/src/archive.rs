//! [`Archive`] in memory.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Batch, IdempotencyId, IdempotencyRecord, Pet, PetId, Resolution, RestoreError,
    Snapshot, StoreCounts, StoreError, Written,
};

use crate::{api_keys, state::State, store::KeptStore};

#[async_trait]
impl Archive for KeptStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View(self.state().clone())))
    }

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        let mut state = self.state();
        state.handover.permit(batch.writer)?;
        let mut changed = state.clone();
        let written = write(&mut changed, &batch)?;
        *state = changed;
        Ok(written)
    }
}

/// Writes a batch into a state that is dropped if that fails.
fn write(state: &mut State, batch: &Batch) -> Result<Written, RestoreError> {
    let Batch { writer: _, pets, new_pets, request, keys, records, assign_above } = batch;
    let before = state.pets.len();
    for pet in pets {
        if Resolution::of_pet(state.pets.get(&pet.id), pet)? == Resolution::Write {
            state.pets.insert(pet.id, pet.clone());
        }
    }
    state.handover.rewrites += i64::from(state.pets.len() > before);
    let highest = state.pets.last_key_value().map(|(id, _)| *id);
    state.assigned = state.assigned.max(highest.max(*assign_above).map_or(0, |id| id.0));
    let resolution = request.as_ref().map_or(Ok(Resolution::Write), |request| {
        Resolution::of_new_pets(state.records.get(&request.id), request)
    })?;
    if resolution == Resolution::Write {
        for (index, pet) in new_pets.iter().enumerate() {
            let id = state.insert(pet.clone())?.id;
            if let (0, Some(request)) = (index, request) {
                state.records.insert(request.id, request.into_record(id));
            }
        }
    }
    for key in keys {
        api_keys::write(state, key)?;
    }
    state.key_changes += u64::from(!keys.is_empty());
    for record in records {
        let (stored, pet_exists) =
            (state.records.get(&record.id), state.pets.contains_key(&record.pet));
        if Resolution::of_record(stored, pet_exists, record)? == Resolution::Write {
            state.records.insert(record.id, *record);
        }
    }
    Ok(Written { added: (state.pets.len() - before) as u64 })
}

/// A copy of the whole state.
struct View(State);

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let State { pets, records, keys, .. } = &self.0;
        let [pets, keys, idempotency_records] =
            [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, idempotency_records })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.0.pets.range((after, Bound::Unbounded));
        Ok(following.take(limit as usize).map(|(_, pet)| pet.clone()).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.0.keys.clone())
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.0.records.range((after, Bound::Unbounded));
        Ok(following.take(limit as usize).map(|(_, record)| *record).collect())
    }
}
