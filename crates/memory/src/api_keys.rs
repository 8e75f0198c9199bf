//! [`KeyStore`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys, Timestamp,
};

use crate::store::MemoryStore;

#[async_trait]
impl KeyStore for MemoryStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let state = self.state();
        if unless == Some(state.key_revision) {
            return Ok(None);
        }
        let next_id = KeyId(state.highest.key.map_or(0, |id| id.0).saturating_add(1));
        let keys = state.keys.values().cloned().map(Ok);
        Ok(Some(StoredKeys::new(state.key_revision, next_id, keys)))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let mut state = self.writable()?;
        if state.key_revision != expected {
            return Ok(SaveOutcome::Conflict);
        }
        let (mut keys, mut highest) = (state.keys.clone(), state.highest.key);
        keys.retain(|id, _| !removed.contains(id));
        for key in changed {
            if keys.values().any(|other| other.id != key.id && other.digest == key.digest) {
                return Err(StoreError::refused("another API key has this digest"));
            }
            let stored = keys.get(&key.id);
            let last_used_at = stored.map_or(key.last_used_at, |stored| stored.last_used_at);
            highest = highest.max(Some(key.id));
            keys.insert(key.id, ApiKey { last_used_at, ..key });
        }
        (state.keys, state.highest.key) = (keys, highest);
        state.key_revision.0 += 1;
        Ok(SaveOutcome::Saved)
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let mut state = self.writable()?;
        for (id, at) in uses {
            if let Some(key) = state.keys.get_mut(&id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        Ok(())
    }
}
