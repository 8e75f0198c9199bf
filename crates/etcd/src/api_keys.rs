//! [`KeyStore`] on etcd.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError,
    StoredKeys, Timestamp, WriterRole,
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
        let rows = self.core.api_keys(0, read.revision).await?;
        Ok(Some(StoredKeys::new(revision, next_id, rows)))
    }

    /// The position is a revision of etcd, and every stamp is 1. The head at the known position shows whether this
    /// store had the known keys at that revision. If etcd has compacted that revision away, all keys are returned.
    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let core = &self.core;
        let read = core.read(&[], core.client.deadline()).await?;
        let mark = KeyMark { revision: read.head.key_revision(), position: read.revision };
        let mut changes = KeyChanges::none_since(mark);
        let mut since = 0;
        if let Some(known) = known {
            if known.revision == mark.revision {
                return Ok(changes);
            }
            // After a restore, or from another store, the position may lie in the future.
            if known.position <= read.revision && core.had_keys(known).await {
                since = known.position;
            }
        }
        let rows = core.api_keys(since + 1, read.revision).await?;
        changes.rows = rows.into_iter().map(|row| (row, 1)).collect();
        changes.sum = core.count(&core.keys.folder("keys"), read.revision).await?;
        Ok(changes)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let core = &self.core;
        let (revision, stored) = core.readable_keys().await?;
        let is_kept = |key: &&ApiKey| {
            !removed.contains(&key.id) && changed.iter().all(|changed| changed.id != key.id)
        };
        let after: Vec<_> = stored.iter().filter(is_kept).chain(&changed).collect();
        let is_taken = |key: &ApiKey| after.iter().filter(|it| it.digest == key.digest).count() > 1;
        if revision == expected && changed.iter().any(is_taken) {
            return Err(StoreError::refused("another API key has this digest"));
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
    /// Returns whether the keys had the revision of `known` at its position. Returns `false` if the head there cannot
    /// be read.
    async fn had_keys(&self, known: KeyMark) -> bool {
        let read = self.head_at(&self.keys.head(), known.position).await;
        matches!(read, Ok(Some(read)) if read.head.key_revision() == known.revision)
    }

    /// Reads, as of `revision`, every API key that was written at `min_mod_revision` or later.
    pub(crate) async fn api_keys(
        &self,
        min_mod_revision: i64,
        revision: i64,
    ) -> Result<Vec<Result<ApiKey, CorruptKey>>, Failure> {
        let range = Range { min_mod_revision, ..Range::after(None, &self.keys.folder("keys")) };
        let entries = self.scan(range, usize::MAX, revision).await?;
        Ok(entries.iter().map(rows::api_key).collect())
    }

    /// Reads the API keys that are not corrupt, and their revision. There may be too many for one transaction.
    pub(crate) async fn readable_keys(&self) -> Result<(KeyRevision, Vec<ApiKey>), Failure> {
        let read = self.read(&[], self.client.deadline()).await?;
        let keys = self.api_keys(0, read.revision).await?;
        Ok((read.head.key_revision(), keys.into_iter().flatten().collect()))
    }
}

/// Returns the identifier in `keys` that has the digest of `key`.
pub(crate) fn digest_owner(keys: &[ApiKey], key: &ApiKey) -> Option<KeyId> {
    keys.iter().find(|stored| stored.digest == key.digest).map(|stored| stored.id)
}
