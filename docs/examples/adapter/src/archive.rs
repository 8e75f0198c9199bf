//! [`Archive`] and [`Handover`] on the file.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, Handover, HighestIds, IdempotencyRecord, IdempotencyRequest,
    KeyId, NewPet, Pet, PetId, RecordPosition, Resolution, Rows, Snapshot, StoreCounts, StoreError,
    StoreState, WriterRole,
};

use crate::{
    line::Write,
    state::{Draft, State},
    store::FileStore,
};

#[async_trait]
impl Archive for FileStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(FileSnapshot(self.state().clone())))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        self.write(move |draft| {
            draft.state.handover.permit_write(writer)?;
            draft.or_nothing(|draft| write_rows(draft, rows))
        })
        .await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        self.write(move |draft| {
            draft.state.handover.permit_write(WriterRole::Service)?;
            if let Some(request) = &request {
                let stored = draft.state.records.get(&request.id);
                if Resolution::of_new_pets(stored, request)? == Resolution::Keep {
                    return Ok(0);
                }
            }
            let added = pets.len() as u64;
            draft.or_nothing(|draft| {
                let mut request = request;
                for pet in pets {
                    let pet = pet.with_id(draft.state.next_pet()?);
                    // The record names the first animal.
                    let record = request.take().map(|request| request.into_record(pet.id));
                    draft.write(Write::Pet(pet));
                    if let Some(record) = record {
                        draft.write(Write::Record(record));
                    }
                }
                Ok(added)
            })
        })
        .await
    }
}

/// Decides about each row by `Resolution`, because the domain has the rules.
fn write_rows(draft: &mut Draft, rows: Rows) -> Result<u64, ArchiveError> {
    let Rows { pets, keys, records, highest } = rows;
    let before = draft.state.pets.len();
    for pet in pets {
        if Resolution::of_pet(draft.state.pets.get(&pet.id), &pet)? == Resolution::Write {
            draft.write(Write::Pet(pet));
        }
    }
    let added = draft.state.pets.len() - before;
    if added > 0 {
        draft.write(Write::Rewrite);
    }
    for key in keys {
        let owner = draft.state.keys.values().find(|stored| stored.digest == key.digest);
        let owner = owner.map(|owner| owner.id);
        let resolved = Resolution::of_key(draft.state.keys.get(&key.id), owner, &key)?;
        draft.write(Write::Key(resolved));
    }
    for record in records {
        let stored = draft.state.records.get(&record.id);
        if Resolution::of_record(stored, &record)? == Resolution::Write {
            draft.write(Write::Record(record));
        }
    }
    highest.pet.into_iter().for_each(|id| draft.write(Write::HighestPet(id.0)));
    highest.key.into_iter().for_each(|id| draft.write(Write::HighestKey(id.0)));
    Ok(added as u64)
}

#[async_trait]
impl Handover for FileStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        Ok(self.state().handover.clone())
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.write(move |draft| {
            let is_expected = draft.state.handover.revision == expected;
            if is_expected {
                draft.write(Write::State(new));
            }
            Ok(is_expected)
        })
        .await
    }
}

/// A copy of the whole state, which no later write changes.
struct FileSnapshot(State);

#[async_trait]
impl Snapshot for FileSnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let State { pets, records, keys, .. } = &self.0;
        let [pets, keys, records] = [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, records })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let some = |id: i64| (id > 0).then_some(id);
        let (pet, key) = (some(self.0.highest_pet), some(self.0.highest_key));
        Ok(HighestIds { pet: pet.map(PetId), key: key.map(KeyId) })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.0.pets.range((after, Bound::Unbounded));
        Ok(following.take(limit as usize).map(|(_, pet)| pet.clone()).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.0.keys.values().cloned().collect())
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let mut records: Vec<_> = self.0.records.values().copied().collect();
        records.retain(|record| after.is_none_or(|after| record.position() > after));
        records.sort_unstable_by_key(IdempotencyRecord::position);
        records.truncate(limit as usize);
        Ok(records)
    }
}
