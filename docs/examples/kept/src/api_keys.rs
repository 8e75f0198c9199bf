//! [`KeyStore`] in memory.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, Resolution, RestoreError, Saved, StoreError, StoredKeys,
};

use crate::{state::State, store::KeptStore};

#[async_trait]
impl KeyStore for KeptStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let state = self.state();
        if unless == Some(state.key_revision()) {
            return Ok(None);
        }
        let (keys, next_id) = (state.keys.iter().cloned().map(Ok), KeyId(state.next_key_id));
        Ok(Some(StoredKeys::new(state.key_revision(), next_id, keys)))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        let mut state = self.writable()?;
        if state.key_revision() != expected {
            return Ok(Saved::Lost);
        }
        let is_use = |key: &ApiKey| {
            state.keys.iter().any(|stored| stored.id == key.id && !stored.is_changed_by(key))
        };
        let is_change = !removed.is_empty() || !changed.iter().all(is_use);
        let mut saved = state.clone();
        for key in &changed {
            write(&mut saved, key).map_err(StoreError::unavailable)?;
        }
        saved.keys.retain(|key| !removed.contains(&key.id));
        saved.key_changes += u64::from(is_change);
        *state = saved;
        Ok(Saved::Yes)
    }
}

/// Writes a key under its own identifier, or what has become of it.
pub(crate) fn write(state: &mut State, key: &ApiKey) -> Result<(), RestoreError> {
    let place = state.keys.binary_search_by_key(&key.id, |stored| stored.id);
    let stored = place.ok().map(|index| &state.keys[index]);
    let owner = state.keys.iter().find(|stored| stored.digest == key.digest);
    let resolved = Resolution::of_key(stored, owner.map(|owner| owner.id), key)?;
    match place {
        Ok(index) => state.keys[index] = resolved,
        Err(index) => state.keys.insert(index, resolved),
    }
    state.next_key_id = state.next_key_id.max(key.id.0.saturating_add(1));
    Ok(())
}
