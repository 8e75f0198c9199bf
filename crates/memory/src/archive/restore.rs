//! [`Restore`] in memory.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyRecord, NewPet, Pet, Resolution, Restore, RestoreError, StoreError, Writer,
};

use crate::{api_keys, state::State};

/// A list of changes. Each is tried on a draft when it comes, so that a conflict shows at once, and
/// all are made to the state of that moment by `commit`.
pub(crate) struct Transaction {
    writer: Writer,
    store: Arc<Mutex<State>>,
    draft: State,
    changes: Vec<Change>,
}

enum Change {
    Pets(Vec<Pet>),
    NewPets(Vec<NewPet>),
    Keys(Vec<ApiKey>),
    Records(Vec<IdempotencyRecord>),
}

impl Transaction {
    pub(crate) fn new(store: Arc<Mutex<State>>, writer: Writer) -> Self {
        let draft = store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { writer, store, draft, changes: Vec::new() }
    }

    fn add(&mut self, change: Change) -> Result<(), RestoreError> {
        change.apply(&mut self.draft)?;
        self.changes.push(change);
        Ok(())
    }
}

#[async_trait]
impl Restore for Transaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let before = self.draft.pets.len();
        self.add(Change::Pets(pets))?;
        Ok((self.draft.pets.len() - before) as u64)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.add(Change::NewPets(pets))
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.add(Change::Keys(keys))
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.add(Change::Records(records))
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        let mut state = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        state.handover.permit(self.writer)?;
        let mut restored = state.clone();
        restored.handover.rewrites += 1;
        for change in mem::take(&mut self.changes) {
            // What had no conflict when it came has one now: another writer came in between.
            change.apply(&mut restored).map_err(StoreError::unavailable)?;
        }
        *state = restored;
        Ok(())
    }
}

impl Change {
    fn apply(&self, state: &mut State) -> Result<(), RestoreError> {
        match self {
            Self::Pets(pets) => pets.iter().try_for_each(|pet| restore_pet(state, pet)),
            Self::NewPets(pets) => {
                for pet in pets {
                    state.insert(pet.clone())?;
                }
                Ok(())
            }
            Self::Keys(keys) => {
                state.key_changes += 1;
                keys.iter().try_for_each(|key| api_keys::write(state, key))
            }
            Self::Records(records) => {
                records.iter().try_for_each(|record| restore_record(state, record))
            }
        }
    }
}

fn restore_pet(state: &mut State, pet: &Pet) -> Result<(), RestoreError> {
    match Resolution::of_pet(state.pets.get(&pet.id), pet)? {
        Resolution::Keep => {}
        Resolution::Write => drop(state.pets.insert(pet.id, pet.clone())),
    }
    Ok(())
}

fn restore_record(state: &mut State, record: &IdempotencyRecord) -> Result<(), RestoreError> {
    let pet_exists = state.pets.contains_key(&record.pet);
    match Resolution::of_record(state.records.get(&record.id), pet_exists, record)? {
        Resolution::Keep => {}
        Resolution::Write => drop(state.records.insert(record.id, *record)),
    }
    Ok(())
}
