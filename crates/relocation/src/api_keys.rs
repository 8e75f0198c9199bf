//! [`KeyStore`] over the store that decides.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys, Timestamp,
};

use crate::store::RelocatingStore;

#[async_trait]
impl KeyStore for RelocatingStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.read(|side| side.keys.load(unless)).await.map(|(keys, _)| keys)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        self.write(|side| side.keys.save(expected, changed.clone(), removed.clone())).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.write(|side| side.keys.note_uses(uses.clone())).await
    }
}
