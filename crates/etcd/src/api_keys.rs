//! [`KeyStore`] on etcd.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyId, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys,
    Timestamp, WriterRole,
};

use crate::{core::Core, error::Failure, kv::Range, rows, store::EtcdStore};

#[async_trait]
impl KeyStore for EtcdStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let read = self.core.read(&[], self.core.client.deadline()).await?;
        let revision = read.head.key_revision();
        if unless == Some(revision) {
            return Ok(None);
        }
        let next_id = KeyId(read.head.last_key.saturating_add(1));
        let rows = self.core.api_keys(read.revision).await?;
        Ok(Some(StoredKeys::new(revision, next_id, rows)))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let core = &self.core;
        let (revision, mut others) = core.readable_keys().await?;
        if revision == expected {
            others.retain(|key| {
                !removed.contains(&key.id) && changed.iter().all(|changed| changed.id != key.id)
            });
            for key in &changed {
                if digest_owner(&others, key).is_some() {
                    return Err(StoreError::refused("another API key has this digest"));
                }
                others.push(key.clone());
            }
        }
        let places: Vec<_> = changed.iter().map(|key| core.keys.api_key(key.id)).collect();
        let saved = core.commit(&places, false, |draft| {
            draft.permit(WriterRole::Service)?;
            // A revision never recurs, so the digests did not change after they were compared.
            if draft.head.key_revision() != expected || revision != expected {
                return Ok::<_, StoreError>(SaveOutcome::Conflict);
            }
            draft.head.renew_keys()?;
            for id in &removed {
                draft.delete(core.keys.api_key(*id));
            }
            for key in &changed {
                let stored = draft.api_key(key.id);
                let last_used_at = stored.map_or(key.last_used_at, |stored| stored.last_used_at);
                draft.put_api_key(&ApiKey { last_used_at, ..key.clone() });
            }
            Ok(SaveOutcome::Saved)
        });
        saved.await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let core = &self.core;
        let places: Vec<_> = uses.iter().map(|(id, _)| core.keys.api_key(*id)).collect();
        let noted = core.commit(&places, false, |draft| {
            draft.permit(WriterRole::Service)?;
            for (id, at) in &uses {
                let is_earlier = |key: &ApiKey| key.last_used_at < Some(*at);
                if let Some(key) = draft.api_key(*id).filter(is_earlier) {
                    draft.put_api_key(&ApiKey { last_used_at: Some(*at), ..key });
                }
            }
            Ok::<_, StoreError>(())
        });
        noted.await
    }
}

impl Core {
    /// Reads every API key at `revision`.
    pub(crate) async fn api_keys(
        &self,
        revision: i64,
    ) -> Result<Vec<Result<ApiKey, CorruptKey>>, Failure> {
        let range = Range::after(None, &self.keys.folder("keys"));
        let entries = self.scan(range, usize::MAX, revision).await?;
        Ok(entries.iter().map(rows::api_key).collect())
    }

    /// Reads the API keys that are not corrupt, and their revision. There may be too many for one transaction.
    pub(crate) async fn readable_keys(&self) -> Result<(KeyRevision, Vec<ApiKey>), Failure> {
        let read = self.read(&[], self.client.deadline()).await?;
        let keys = self.api_keys(read.revision).await?;
        Ok((read.head.key_revision(), keys.into_iter().flatten().collect()))
    }
}

/// Returns the identifier in `keys` that has the digest of `key`.
pub(crate) fn digest_owner(keys: &[ApiKey], key: &ApiKey) -> Option<KeyId> {
    keys.iter().find(|stored| stored.digest == key.digest).map(|stored| stored.id)
}
