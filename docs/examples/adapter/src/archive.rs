//! [`Archive`] on the file.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Batch, IdempotencyId, IdempotencyRecord, Pet, PetId, Resolution, RestoreError,
    Snapshot, StoreCounts, StoreError, Written,
};

use crate::{
    keys,
    line::{KeyLine, Line, PetLine, RecordLine},
    state::State,
    store::FileStore,
};

#[async_trait]
impl Archive for FileStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View(self.state().clone())))
    }

    async fn write(&self, batch: Batch) -> Result<Written, RestoreError> {
        self.write(move |state| {
            let (lines, written) = lines_of(state, batch)?;
            Ok((written, Some(Line::Together(lines))))
        })
        .await
    }
}

/// The lines of a batch, each tried on a copy of the state.
fn lines_of(state: &State, batch: Batch) -> Result<(Vec<Line>, Written), RestoreError> {
    let Batch { writer: _, pets, new_pets, request, keys, records, assign_above } = batch;
    let (mut state, mut lines) = (state.clone(), Vec::new());
    let before = state.pets.len();
    let mut add = |state: &mut State, line: Line| -> Result<(), RestoreError> {
        state.apply(line.clone()).map_err(StoreError::from)?;
        lines.push(line);
        Ok(())
    };
    for pet in pets {
        if Resolution::of_pet(state.pets.get(&pet.id), &pet)? == Resolution::Write {
            add(&mut state, Line::Pet { pet: PetLine::from(&pet), record: None })?;
        }
    }
    if let Some(id) = assign_above {
        add(&mut state, Line::AssignAbove(id.0))?;
    }
    let mut request = request;
    let resolution = request.as_ref().map_or(Ok(Resolution::Write), |request| {
        Resolution::of_new_pets(state.records.get(&request.id), request)
    });
    if resolution? == Resolution::Write {
        for pet in new_pets {
            let pet = pet.with_id(state.next_pet()?);
            // The record is that of the first.
            let record = request.take().map(|it| RecordLine::from(&it.into_record(pet.id)));
            add(&mut state, Line::Pet { pet: PetLine::from(&pet), record })?;
        }
    }
    for key in keys {
        let resolved = keys::resolve(&state, &key)?;
        add(&mut state, Line::Keys(vec![KeyLine::from(&resolved)]))?;
    }
    for record in records {
        let pet_exists = state.pets.contains_key(&record.pet);
        let resolution = Resolution::of_record(state.records.get(&record.id), pet_exists, &record)?;
        if resolution == Resolution::Write {
            add(&mut state, Line::Record(RecordLine::from(&record)))?;
        }
    }
    let added = (state.pets.len() - before) as u64;
    Ok((lines, Written { added }))
}

/// A copy of the whole state: nothing changes it.
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
        Ok(self.0.keys.values().cloned().collect())
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
