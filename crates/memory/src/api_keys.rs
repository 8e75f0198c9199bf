//! [`ApiKeyRepository`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeyName, KeySelector, KeyState, NewApiKey,
    ReadError, RollKeyError, Timestamp, Unavailable,
};

use crate::{
    MemoryStore,
    state::{State, next_id},
};

#[async_trait]
impl ApiKeyRepository for MemoryStore {
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError> {
        let mut state = self.state();
        let now = key.created_at;
        if live(&state, now).any(|other| other.name == key.name) {
            return Err(AddKeyError::NameTaken);
        }
        if is_full(&state, now, most) {
            return Err(AddKeyError::TooManyKeys(most));
        }
        Ok(insert(&mut state, key)?)
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        let mut state = self.state();
        let (name, now) = (key.name.clone(), key.created_at);
        if !live(&state, now).any(|other| other.name == name) {
            return Err(RollKeyError::NoSuchKey);
        }
        if is_full(&state, now, most) {
            return Err(RollKeyError::TooManyKeys(most));
        }
        let key = insert(&mut state, key)?;
        retire(&mut state, &name, key.id, now, retire_at);
        Ok(key)
    }

    async fn revoke(&self, selector: KeySelector, at: Timestamp) -> Result<Vec<ApiKey>, ReadError> {
        let mut state = self.state();
        let chosen = |key: &ApiKey| match &selector {
            KeySelector::Id(id) => key.id == *id,
            KeySelector::Name(name) => key.name == *name,
        };
        let revoked = state.keys.iter_mut().filter(|key| key.revoked_at.is_none() && chosen(key));
        Ok(revoked
            .map(|key| {
                key.revoked_at = Some(at);
                key.clone()
            })
            .collect())
    }

    async fn list(&self) -> Result<Vec<ApiKey>, ReadError> {
        Ok(self.state().keys.clone())
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, ReadError> {
        Ok(live(&self.state(), now).cloned().collect())
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), Unavailable> {
        let mut state = self.state();
        for (id, at) in uses {
            if let Ok(index) = state.keys.binary_search_by_key(&id, |key| key.id) {
                let key = &mut state.keys[index];
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        Ok(())
    }
}

fn live(state: &State, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
    state.keys.iter().filter(move |key| key.state(now) == KeyState::Live)
}

fn is_full(state: &State, now: Timestamp, most: u32) -> bool {
    live(state, now).count() >= most as usize
}

/// A digest belongs to one key. No caller makes the same key twice, so this has no error of its
/// own.
fn insert(state: &mut State, key: NewApiKey) -> Result<ApiKey, Unavailable> {
    if state.keys.iter().any(|other| other.digest == key.digest) {
        return Err(Unavailable::new("an API key with this digest is already stored"));
    }
    let key = key.with_id(KeyId(next_id(state.keys.last().map(|last| last.id.0))?));
    state.keys.push(key.clone());
    Ok(key)
}

/// Lets the live keys called `name` expire at `retire_at` at the latest, except `successor`.
fn retire(
    state: &mut State,
    name: &KeyName,
    successor: KeyId,
    now: Timestamp,
    retire_at: Timestamp,
) {
    for key in &mut state.keys {
        if key.name == *name && key.id != successor && key.state(now) == KeyState::Live {
            key.expires_at = Some(key.expires_at.map_or(retire_at, |own| own.min(retire_at)));
        }
    }
}
