//! [`ApiKeyRepository`] over the store that decides.

use std::time::Instant;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, NewApiKey, RollKeyError, StoreError,
    StoredKeys, Timestamp,
};

use crate::{
    fenced::MayBeFenced,
    pets::{read, write},
    store::RelocatingStore,
};

#[async_trait]
impl ApiKeyRepository for RelocatingStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        write!(self, side => side.keys.add(key.clone(), max))
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        write!(self, side => side.keys.roll(key.clone(), retire_at, max))
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        write!(self, side => side.keys.revoke(selector.clone(), at))
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        read!(self, side => side.keys.list(), |_, _| ())
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        read!(self, side => side.keys.live(now), |_, _| ())
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        write!(self, side => side.keys.note_use(uses.clone()))
    }
}
