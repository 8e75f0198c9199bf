//! API keys.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys, Timestamp,
};

use crate::store::MyStore;

#[async_trait]
impl KeyStore for MyStore {
    async fn load(&self, _unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        todo!("every key, or None if the revision is still `unless`")
    }

    async fn save(
        &self,
        _expected: KeyRevision,
        _changed: Vec<ApiKey>,
        _removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        todo!("one transaction: compare the revision, write each key whole, except its last use")
    }

    async fn note_uses(&self, _uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        todo!("one transaction: the later use of each stored key; the revision stays")
    }
}
