//! [`Archive`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, HighestIds, IdempotencyRecord, IdempotencyRequest, NewPet, Pet,
    PetId, RecordPosition, Resolution, Rows, Snapshot, StoreCounts, StoreError, WriterRole,
};

use crate::{state::State, store::MemoryStore};

#[async_trait]
impl Archive for MemoryStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(self.state().clone()))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let mut state = self.state();
        state.handover.permit_write(writer)?;
        let mut changed = state.clone();
        let Rows { pets, keys, records, highest } = rows;
        let before = changed.pets.len();
        // A row to keep is equal to the stored row, so it is written like any other.
        for pet in pets {
            Resolution::of_pet(changed.pets.get(&pet.id), &pet)?;
            changed.highest.pet = changed.highest.pet.max(Some(pet.id));
            changed.pets.insert(pet.id, pet);
        }
        let added = changed.pets.len() - before;
        changed.handover.rewrites += i64::from(added > 0);
        changed.version.0 += u128::from(added > 0);
        changed.key_revision.0 += u128::from(!keys.is_empty());
        for key in keys {
            let owner = changed.keys.values().find(|stored| stored.digest == key.digest);
            let owner = owner.map(|owner| owner.id);
            let resolved = Resolution::of_key(changed.keys.get(&key.id), owner, &key)?;
            changed.highest.key = changed.highest.key.max(Some(key.id));
            changed.keys.insert(key.id, resolved);
        }
        for record in records {
            Resolution::of_record(changed.records.get(&record.id), &record)?;
            changed.records.insert(record.id, record);
        }
        changed.highest.pet = changed.highest.pet.max(highest.pet);
        changed.highest.key = changed.highest.key.max(highest.key);
        *state = changed;
        Ok(added as u64)
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let mut state = self.writable()?;
        if let Some(request) = &request {
            let stored = state.records.get(&request.id);
            if Resolution::of_new_pets(stored, request)? == Resolution::Keep {
                return Ok(0);
            }
        }
        let mut changed = state.clone();
        let added = pets.len() as u64;
        for (index, pet) in pets.into_iter().enumerate() {
            let id = changed.insert(pet)?.id;
            if let (0, Some(request)) = (index, request) {
                changed.records.insert(request.id, request.into_record(id));
            }
        }
        *state = changed;
        Ok(added)
    }
}

/// A snapshot is a copy of the whole state.
#[async_trait]
impl Snapshot for State {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let State { pets, records, keys, .. } = self;
        let [pets, keys, records] = [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, records })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        Ok(self.highest)
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        Ok(self.pets_after(after).take(limit as usize).cloned().collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.keys.values().cloned().collect())
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let mut records: Vec<_> = self.records.values().copied().collect();
        records.retain(|record| after.is_none_or(|after| record.position() > after));
        records.sort_unstable_by_key(IdempotencyRecord::position);
        records.truncate(limit as usize);
        Ok(records)
    }
}
