//! [`ApiKeyRepository`] on the file.

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, LiveKeys, NewApiKey, RollKeyError,
    StoreError, StoredKeys, Timestamp,
};

use crate::{
    line::{KeyLine, Line},
    state::State,
    store::FileStore,
};

#[async_trait]
impl ApiKeyRepository for FileStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        self.write(move |state| {
            live_keys(state, &key).permit_add(max)?;
            let key = key.with_id(state.next_key()?);
            Ok((key.clone(), changed([&key])))
        })
        .await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.write(move |state| {
            live_keys(state, &key).permit_roll(max)?;
            let old = state.live_keys(key.created_at).filter(|old| old.name == key.name);
            let mut keys: Vec<ApiKey> = old.cloned().map(|old| old.retired(retire_at)).collect();
            let key = key.with_id(state.next_key()?);
            keys.push(key.clone());
            Ok((key, changed(&keys)))
        })
        .await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.write(move |state| {
            let selected = |key: &&ApiKey| match &selector {
                KeySelector::Id(id) => key.id == *id,
                KeySelector::Name(name) => key.name == *name,
            };
            let left = state.keys.values().filter(|key| key.revoked_at.is_none());
            let revoke = |key: &ApiKey| ApiKey { revoked_at: Some(at), ..key.clone() };
            let revoked: Vec<ApiKey> = left.filter(selected).map(revoke).collect();
            let line = changed(&revoked);
            Ok((revoked, line))
        })
        .await
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        Ok(self.state().keys.values().cloned().map(Ok).collect())
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        Ok(self.state().live_keys(now).cloned().map(Ok).collect())
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.write(move |state| {
            let mut keys: BTreeMap<KeyId, ApiKey> = BTreeMap::new();
            for (id, at) in uses {
                let Some(key) = keys.remove(&id).or_else(|| state.keys.get(&id).cloned()) else {
                    continue;
                };
                let last_used_at = key.last_used_at.max(Some(at));
                keys.insert(id, ApiKey { last_used_at, ..key });
            }
            Ok(((), changed(keys.values())))
        })
        .await
    }
}

/// The line that holds these keys as they are now; none if there are none.
fn changed<'a>(keys: impl IntoIterator<Item = &'a ApiKey>) -> Option<Line> {
    let lines: Vec<KeyLine> = keys.into_iter().map(KeyLine::from).collect();
    (!lines.is_empty()).then_some(Line::Keys(lines))
}

/// What the domain must know before `new` is stored.
fn live_keys(state: &State, new: &NewApiKey) -> LiveKeys {
    let live = || state.live_keys(new.created_at);
    LiveKeys {
        count: u32::try_from(live().count()).unwrap_or(u32::MAX),
        has_name: live().any(|key| key.name == new.name),
        has_digest: state.keys.values().any(|key| key.digest == new.digest),
    }
}
