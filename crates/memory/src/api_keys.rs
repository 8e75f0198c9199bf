//! [`ApiKeyRepository`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, KeyState, LiveKeys, NewApiKey,
    RollKeyError, StoreError, StoredKeys, Timestamp,
};

use crate::{
    state::{State, next_id},
    store::MemoryStore,
};

#[async_trait]
impl ApiKeyRepository for MemoryStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        let mut state = self.writable()?;
        live_keys(&state, &key).permit_add(max)?;
        Ok(insert(&mut state, key)?)
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        let mut state = self.writable()?;
        live_keys(&state, &key).permit_roll(max)?;
        let new = insert(&mut state, key)?;
        for old in &mut state.keys {
            if old.name == new.name
                && old.id != new.id
                && old.state(new.created_at) == KeyState::Live
            {
                *old = old.clone().retired(retire_at);
            }
        }
        Ok(new)
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let mut state = self.writable()?;
        let selected = |key: &ApiKey| match &selector {
            KeySelector::Id(id) => key.id == *id,
            KeySelector::Name(name) => key.name == *name,
        };
        let revoked = state.keys.iter_mut().filter(|key| key.revoked_at.is_none() && selected(key));
        Ok(revoked
            .map(|key| {
                key.revoked_at = Some(at);
                key.clone()
            })
            .collect())
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        Ok(self.state().keys.clone().into())
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        Ok(self.state().live_keys(now).cloned().map(Ok).collect())
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let mut state = self.writable()?;
        for (id, at) in uses {
            if let Ok(index) = state.keys.binary_search_by_key(&id, |key| key.id) {
                let key = &mut state.keys[index];
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        Ok(())
    }
}

/// What the domain must know before `new` is stored.
fn live_keys(state: &State, new: &NewApiKey) -> LiveKeys {
    let live = || state.live_keys(new.created_at);
    LiveKeys {
        count: u32::try_from(live().count()).unwrap_or(u32::MAX),
        has_name: live().any(|key| key.name == new.name),
        has_digest: state.keys.iter().any(|key| key.digest == new.digest),
    }
}

fn insert(state: &mut State, key: NewApiKey) -> Result<ApiKey, StoreError> {
    let key = key.with_id(KeyId(next_id(state.keys.last().map(|last| last.id.0))?));
    state.keys.push(key.clone());
    Ok(key)
}
