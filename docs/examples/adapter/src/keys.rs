//! [`ApiKeyRepository`] on the file.

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeyName, KeySelector, KeyState, NewApiKey,
    RollKeyError, StoreError, Timestamp,
};

use crate::{
    FileStore,
    line::{KeyLine, Line},
    state::State,
};

#[async_trait]
impl ApiKeyRepository for FileStore {
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError> {
        self.write(move |state| {
            if called(state, &key.name, key.created_at).next().is_some() {
                return Err(AddKeyError::NameTaken);
            }
            if is_full(state, key.created_at, most) {
                return Err(AddKeyError::TooManyKeys(most));
            }
            let key = key.with_id(state.next_key());
            Ok((key.clone(), changed([&key])))
        })
        .await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.write(move |state| {
            let mut keys: Vec<ApiKey> = called(state, &key.name, key.created_at).cloned().collect();
            if keys.is_empty() {
                return Err(RollKeyError::NoSuchKey);
            }
            if is_full(state, key.created_at, most) {
                return Err(RollKeyError::TooManyKeys(most));
            }
            for old in &mut keys {
                old.expires_at = Some(old.expires_at.map_or(retire_at, |own| own.min(retire_at)));
            }
            let key = key.with_id(state.next_key());
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
            let chosen = |key: &&ApiKey| match &selector {
                KeySelector::Id(id) => key.id == *id,
                KeySelector::Name(name) => key.name == *name,
            };
            let left = state.keys.values().filter(|key| key.revoked_at.is_none());
            let revoke = |key: &ApiKey| ApiKey { revoked_at: Some(at), ..key.clone() };
            let revoked: Vec<ApiKey> = left.filter(chosen).map(revoke).collect();
            let line = changed(&revoked);
            Ok((revoked, line))
        })
        .await
    }

    async fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.state().keys.values().cloned().collect())
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, StoreError> {
        Ok(live(&self.state(), now).cloned().collect())
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

/// The line that says how these keys are now; none if there are none.
fn changed<'a>(keys: impl IntoIterator<Item = &'a ApiKey>) -> Option<Line> {
    let lines: Vec<KeyLine> = keys.into_iter().map(KeyLine::from).collect();
    (!lines.is_empty()).then_some(Line::Keys(lines))
}

fn live(state: &State, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
    state.keys.values().filter(move |key| key.state(now) == KeyState::Live)
}

/// The live keys of this name.
fn called<'a>(
    state: &'a State,
    name: &KeyName,
    now: Timestamp,
) -> impl Iterator<Item = &'a ApiKey> {
    live(state, now).filter(move |key| key.name == *name)
}

fn is_full(state: &State, now: Timestamp, most: u32) -> bool {
    live(state, now).count() >= most as usize
}
