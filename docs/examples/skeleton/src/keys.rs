//! API keys.

use async_trait::async_trait;
use petstore_domain::{ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys};

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
    ) -> Result<Saved, StoreError> {
        todo!("one transaction: compare the revision, write what Resolution::of_key says, remove")
    }
}
