//! [`Restore`] on the file: all of it becomes one line.

use async_trait::async_trait;
use petstore_domain::{ApiKey, IdempotencyRecord, NewPet, Pet, Restore, RestoreError, StoreError};

use crate::{
    FileStore,
    line::{AttemptLine, KeyLine, Line, PetLine},
    state::State,
};

/// What is to be written, tried on a copy of the state as it comes.
pub(super) struct Transaction {
    store: FileStore,
    draft: State,
    /// How many writes there had been: whoever writes meanwhile writes something that the draft
    /// does not know.
    began_with: u64,
    lines: Vec<Line>,
}

impl Transaction {
    pub(super) fn on(store: FileStore) -> Self {
        let draft = store.state().clone();
        let began_with = draft.writes;
        Self { store, draft, began_with, lines: Vec::new() }
    }

    fn note(&mut self, line: Line) -> Result<(), RestoreError> {
        self.draft.apply(line.clone()).map_err(StoreError::from)?;
        self.lines.push(line);
        Ok(())
    }
}

fn conflict(what: String) -> RestoreError {
    RestoreError::Conflict { what }
}

#[async_trait]
impl Restore for Transaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        let mut new = 0;
        for pet in pets {
            match self.draft.pets.get(&pet.id) {
                Some(there) if *there == pet => {}
                Some(_) => return Err(conflict(format!("animal {}", pet.id))),
                None => {
                    self.note(Line::Pet { pet: PetLine::from(&pet), attempt: None })?;
                    new += 1;
                }
            }
        }
        Ok(new)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        for pet in pets {
            let pet = pet.with_id(self.draft.next_pet());
            self.note(Line::Pet { pet: PetLine::from(&pet), attempt: None })?;
        }
        Ok(())
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        for key in keys {
            let refused = || conflict(format!("API key {}", key.id.0));
            let joined = match self.draft.keys.get(&key.id) {
                Some(there) => there.merged_with(&key).ok_or_else(refused)?,
                None if self.draft.keys.values().any(|there| there.digest == key.digest) => {
                    return Err(refused());
                }
                None => key,
            };
            self.note(Line::Keys(vec![KeyLine::from(&joined)]))?;
        }
        Ok(())
    }

    async fn idempotency_records(
        &mut self,
        attempts: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        for record in attempts {
            let IdempotencyRecord { idempotency, fingerprint, pet, at } = &record;
            if !self.draft.pets.contains_key(pet) {
                let what = format!("an idempotency record of animal {pet}");
                return Err(StoreError::corrupt(what, "it exists").into());
            }
            let key = (idempotency.caller.0, idempotency.key.as_str().to_owned());
            let there = self.draft.attempts.get(&key);
            let there = there.map(|there| (there.at, (there.fingerprint, there.pet)));
            match there {
                Some((then, what)) if then == *at && what == (*fingerprint, *pet) => {}
                Some((then, _)) if then >= *at => {
                    return Err(conflict(format!("idempotency record '{}'", key.1)));
                }
                Some(_) | None => {
                    self.note(Line::Attempt { pet: pet.0, attempt: AttemptLine::from(&record) })?;
                }
            }
        }
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, began_with, lines, .. } = *self;
        store
            .write(move |state| {
                if state.writes != began_with {
                    return Err(StoreError::unavailable("somebody has written meanwhile"));
                }
                Ok(((), Some(Line::Together(lines))))
            })
            .await
    }
}
