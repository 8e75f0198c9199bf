//! [`KeyStore`] on etcd.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError,
    StoredKeys, Timestamp, WriterRole,
};

use crate::{core::Core, head, kv::Range, rows, store::EtcdStore};

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

    /// The position is a revision of etcd, and every stamp is 1. The head as of that revision of etcd shows whether
    /// `known` is a state of this store: it then has the key revision of `known`. Otherwise, or if etcd has compacted
    /// that revision away, all keys are returned.
    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let core = &self.core;
        let read = core.read(&[], core.client.deadline()).await?;
        let mark = KeyMark { revision: read.head.key_revision(), position: read.revision };
        if known.is_some_and(|known| known.revision == mark.revision) {
            return Ok(KeyChanges::none_since(mark));
        }
        let mut since = 0;
        if let Some(known) = known {
            // The position may be ahead of this etcd, if etcd was restored or if `known` is of another store.
            let then = core.head_at(&core.keys.head(), known.position).await.ok().flatten();
            if then.is_some_and(|then| then.head.key_revision() == known.revision) {
                since = known.position;
            }
        }
        let rows = core.api_keys(since + 1, read.revision).await?;
        let rows = rows.into_iter().map(|row| (row, 1)).collect();
        let sum = core.count(&core.keys.folder("keys"), read.revision).await?;
        Ok(KeyChanges { mark, rows, sum })
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let core = &self.core;
        let read = core.read(&[], core.client.deadline()).await?;
        let revision = read.head.key_revision();
        let mut after = core.readable_keys(read.revision).await?;
        after.retain(|key| !removed.contains(&key.id));
        after.retain(|key| changed.iter().all(|changed| changed.id != key.id));
        after.extend_from_slice(&changed);
        let is_taken = |key: &ApiKey| after.iter().filter(|it| it.digest == key.digest).count() > 1;
        if revision == expected && changed.iter().any(is_taken) {
            return Err(StoreError::refused("another API key has this digest"));
        }
        let places: Vec<_> = changed.iter().map(|key| core.keys.api_key(key.id)).collect();
        let saved = core.commit(Some(WriterRole::Service), &places, false, |draft| {
            // A key revision never recurs, so no digest has changed since the comparison above.
            if draft.head.key_revision() != expected || revision != expected {
                return Ok(SaveOutcome::Conflict);
            }
            draft.head.key_revision = head::random()?;
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
        let noted = core.commit(Some(WriterRole::Service), &places, false, |draft| {
            for (id, at) in &uses {
                let is_earlier = |key: &ApiKey| key.last_used_at < Some(*at);
                if let Some(key) = draft.api_key(*id).filter(is_earlier) {
                    draft.put_api_key(&ApiKey { last_used_at: Some(*at), ..key });
                }
            }
            Ok(())
        });
        noted.await
    }
}

impl Core {
    /// Reads, as of `revision`, every API key that was written at `min_mod_revision` or later.
    pub(crate) async fn api_keys(
        &self,
        min_mod_revision: i64,
        revision: i64,
    ) -> Result<Vec<Result<ApiKey, CorruptKey>>, StoreError> {
        let folder = self.keys.folder("keys");
        let range =
            Range { min_mod_revision, revision, limit: usize::MAX, ..Range::after(None, &folder) };
        let entries = self.scan(&folder, range, usize::MAX).await?;
        Ok(entries.iter().map(rows::api_key).collect())
    }

    /// Reads the API keys that are not corrupt, as of `revision`. A write reads them before its transaction, which may
    /// be too small for all keys. So the transaction must check that the key revision is still the same.
    pub(crate) async fn readable_keys(&self, revision: i64) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.api_keys(0, revision).await?.into_iter().flatten().collect())
    }
}
