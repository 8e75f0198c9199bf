//! [`KeyStore`] on the file.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, Resolution, RestoreError, Saved, StoreError, StoredKeys,
};

use crate::{
    line::{KeyLine, Line},
    state::State,
    store::FileStore,
};

#[async_trait]
impl KeyStore for FileStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let state = self.state();
        let (revision, keys) = (state.key_revision(), state.keys.values().cloned().map(Ok));
        let changed = unless != Some(revision);
        Ok(changed.then(|| StoredKeys::new(revision, state.next_key(), keys)))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        self.write(move |state| {
            if state.key_revision() != expected {
                return Ok((Saved::Lost, None));
            }
            let resolve = |key| resolve(state, key);
            let changed: Vec<ApiKey> = changed
                .iter()
                .map(resolve)
                .collect::<Result<_, _>>()
                .map_err(StoreError::unavailable)?;
            let keys = Line::Keys(changed.iter().map(KeyLine::from).collect());
            let removed = Line::RemovedKeys(removed.into_iter().map(|KeyId(id)| id).collect());
            Ok((Saved::Yes, Some(Line::Together(vec![keys, removed]))))
        })
        .await
    }
}

/// A key as the store must hold it afterwards.
pub(crate) fn resolve(state: &State, key: &ApiKey) -> Result<ApiKey, RestoreError> {
    let owner = state.keys.values().find(|stored| stored.digest == key.digest);
    Resolution::of_key(state.keys.get(&key.id), owner.map(|owner| owner.id), key)
}
