//! [`Restore`] on the file: all of it becomes one line.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyRecord, NewPet, Pet, Resolution, Restore, RestoreError, StoreError,
};

use crate::{
    keys,
    line::{KeyLine, Line, PetLine, RecordLine},
    state::State,
    store::FileStore,
};

/// What is to be written, tried on a copy of the state as it comes.
pub(super) struct Transaction {
    store: FileStore,
    draft: State,
    /// How many writes there had been: one that came in between is not in the draft.
    began_with: u64,
    lines: Vec<Line>,
}

impl Transaction {
    pub(super) fn new(store: FileStore) -> Self {
        let draft = store.state().clone();
        let began_with = draft.writes;
        Self { store, draft, began_with, lines: Vec::new() }
    }

    fn add(&mut self, line: Line) -> Result<(), RestoreError> {
        self.draft.apply(line.clone()).map_err(StoreError::from)?;
        self.lines.push(line);
        Ok(())
    }
}

#[async_trait]
impl Restore for Transaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let mut written = 0;
        for pet in pets {
            match Resolution::of_pet(self.draft.pets.get(&pet.id), &pet)? {
                Resolution::Keep => {}
                Resolution::Write => {
                    self.add(Line::Pet { pet: PetLine::from(&pet), record: None })?;
                    written += 1;
                }
            }
        }
        Ok(written)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        for pet in pets {
            let pet = pet.with_id(self.draft.next_pet()?);
            self.add(Line::Pet { pet: PetLine::from(&pet), record: None })?;
        }
        Ok(())
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        for key in keys {
            let resolved = keys::resolve(&self.draft, &key)?;
            self.add(Line::Keys(vec![KeyLine::from(&resolved)]))?;
        }
        Ok(())
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        for record in records {
            let stored = self.draft.records.get(&record.id);
            let pet_exists = self.draft.pets.contains_key(&record.pet);
            match Resolution::of_record(stored, pet_exists, &record)? {
                Resolution::Keep => {}
                Resolution::Write => self.add(Line::Record(RecordLine::from(&record)))?,
            }
        }
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, began_with, lines, .. } = *self;
        store
            .write(move |state| {
                if state.writes != began_with {
                    return Err(StoreError::unavailable("another write came in between"));
                }
                Ok(((), Some(Line::Together(lines))))
            })
            .await
    }
}
