//! [`ApiKeyRepository`] over the store that decides.

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, NewApiKey, RollKeyError, StoreError,
    StoredKeys, Timestamp,
};

use crate::store::RelocatingStore;

#[async_trait]
impl ApiKeyRepository for RelocatingStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        self.write(|side| side.keys.add(key.clone(), max)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.write(|side| side.keys.roll(key.clone(), retire_at, max)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.write(|side| side.keys.revoke(selector.clone(), at)).await
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        self.read(|side| side.keys.list()).await.map(|(keys, _)| keys)
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        self.read(|side| side.keys.live(now)).await.map(|(keys, _)| keys)
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.write(|side| side.keys.note_use(uses.clone())).await
    }
}
