//! [`Restore`] in memory.

use std::{
    collections::hash_map::Entry,
    fmt::Display,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, AttemptRecord, Corruption, NewPet, Pet, Restore, RestoreError, Unavailable,
};

use crate::{
    pets::insert,
    state::{Attempt, State},
};

/// A list of changes. Each is tried on a draft when it comes, so that a conflict shows at once, and
/// all are made to the state of that moment by `commit`.
pub(super) struct Transaction {
    store: Arc<Mutex<State>>,
    draft: State,
    changes: Vec<Change>,
}

enum Change {
    Pets(Vec<Pet>),
    NewPets(Vec<NewPet>),
    Keys(Vec<ApiKey>),
    Attempts(Vec<AttemptRecord>),
}

impl Transaction {
    pub(super) fn on(store: Arc<Mutex<State>>) -> Self {
        let draft = store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { store, draft, changes: Vec::new() }
    }

    fn note(&mut self, change: Change) -> Result<(), RestoreError> {
        change.make(&mut self.draft)?;
        self.changes.push(change);
        Ok(())
    }
}

#[async_trait]
impl Restore for Transaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let before = self.draft.pets.len();
        self.note(Change::Pets(pets))?;
        Ok((self.draft.pets.len() - before) as u64)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.note(Change::NewPets(pets))
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.note(Change::Keys(keys))
    }

    async fn attempts(&mut self, attempts: Vec<AttemptRecord>) -> Result<(), RestoreError> {
        self.note(Change::Attempts(attempts))
    }

    async fn commit(mut self: Box<Self>) -> Result<(), Unavailable> {
        let mut state = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut restored = state.clone();
        for change in mem::take(&mut self.changes) {
            // What had no conflict when it came has one now: somebody else wrote in between.
            change.make(&mut restored).map_err(Unavailable::new)?;
        }
        *state = restored;
        Ok(())
    }
}

impl Change {
    fn make(&self, state: &mut State) -> Result<(), RestoreError> {
        match self {
            Self::Pets(pets) => pets.iter().try_for_each(|pet| restore_pet(state, pet)),
            Self::NewPets(pets) => {
                for pet in pets {
                    insert(state, pet.clone())?;
                }
                Ok(())
            }
            Self::Keys(keys) => keys.iter().try_for_each(|key| restore_key(state, key)),
            Self::Attempts(attempts) => {
                attempts.iter().try_for_each(|record| restore_attempt(state, record))
            }
        }
    }
}

fn conflict(what: impl Display) -> RestoreError {
    RestoreError::Conflict { what: what.to_string() }
}

fn restore_pet(state: &mut State, pet: &Pet) -> Result<(), RestoreError> {
    let there = state.pets.entry(pet.id).or_insert_with(|| pet.clone());
    if there == pet { Ok(()) } else { Err(conflict(format!("animal {}", pet.id))) }
}

fn restore_key(state: &mut State, key: &ApiKey) -> Result<(), RestoreError> {
    let refused = || conflict(format!("API key {}", key.id.0));
    match state.keys.binary_search_by_key(&key.id, |there| there.id) {
        Ok(index) => {
            let there = &mut state.keys[index];
            *there = there.joined_with(key).ok_or_else(refused)?;
        }
        Err(_) if state.keys.iter().any(|there| there.digest == key.digest) => {
            return Err(refused());
        }
        Err(index) => state.keys.insert(index, key.clone()),
    }
    Ok(())
}

fn restore_attempt(state: &mut State, record: &AttemptRecord) -> Result<(), RestoreError> {
    let AttemptRecord { idempotency, fingerprint, pet, at } = record;
    let pet = state.pets.get(pet).cloned().ok_or_else(|| Corruption {
        what: format!("an idempotency record of animal {pet}"),
        rule: "it exists".to_owned(),
    })?;
    let name = idempotency.key.as_str();
    let restored = Attempt { fingerprint: *fingerprint, pet, at: *at };
    match state.attempts.entry((idempotency.caller, idempotency.key.clone())) {
        Entry::Occupied(there) if *there.get() == restored => {}
        Entry::Occupied(there) if there.get().at >= restored.at => {
            return Err(conflict(format!("idempotency record '{name}'")));
        }
        Entry::Occupied(mut there) => drop(there.insert(restored)),
        Entry::Vacant(place) => drop(place.insert(restored)),
    }
    Ok(())
}
