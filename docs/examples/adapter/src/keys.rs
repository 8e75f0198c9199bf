//! [`KeyStore`] on the file.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys, Timestamp,
    WriterRole,
};

use crate::{line::Write, store::FileStore};

#[async_trait]
impl KeyStore for FileStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let state = self.state();
        let (revision, next_id) = (state.key_revision, KeyId(state.highest_key.saturating_add(1)));
        let keys = || StoredKeys::new(revision, next_id, state.keys.values().cloned().map(Ok));
        Ok((unless != Some(revision)).then(keys))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        self.write(move |draft| {
            draft.state.handover.permit_write(WriterRole::Service)?;
            if draft.state.key_revision != expected {
                return Ok(SaveOutcome::Conflict);
            }
            draft.or_nothing(|draft| {
                for id in removed {
                    draft.write(Write::RemovedKey(id));
                }
                for key in changed {
                    let keys = &draft.state.keys;
                    if keys.values().any(|it| it.digest == key.digest && it.id != key.id) {
                        return Err(StoreError::refused("another API key has this digest"));
                    }
                    // A save keeps the last use of a stored key.
                    let stored = keys.get(&key.id);
                    let last_used_at = stored.map_or(key.last_used_at, |it| it.last_used_at);
                    draft.write(Write::Key(ApiKey { last_used_at, ..key }));
                }
                draft.write(Write::Saved);
                Ok(SaveOutcome::Saved)
            })
        })
        .await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.write(move |draft| {
            draft.state.handover.permit_write(WriterRole::Service)?;
            for (id, at) in uses {
                draft.write(Write::UsedKey(id, at));
            }
            Ok(())
        })
        .await
    }
}
