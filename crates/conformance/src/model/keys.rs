//! The API keys as they should be.

use petstore_domain::{ApiKey, KeyId, KeyName, KeySelector, KeyState, Timestamp};

/// Every key, ascending by identifier.
#[derive(Debug, Default)]
pub(crate) struct KeyModel(Vec<ApiKey>);

impl KeyModel {
    pub(crate) fn live(&self, now: Timestamp) -> Vec<ApiKey> {
        self.0.iter().filter(|key| key.state(now) == KeyState::Live).cloned().collect()
    }

    pub(crate) fn list(&self) -> &Vec<ApiKey> {
        &self.0
    }

    pub(crate) fn name_is_live(&self, name: &KeyName, now: Timestamp) -> bool {
        self.live(now).iter().any(|key| key.name == *name)
    }

    pub(crate) fn is_full(&self, now: Timestamp, max: u32) -> bool {
        self.live(now).len() >= max as usize
    }

    pub(crate) fn add(&mut self, key: ApiKey) {
        self.0.push(key);
    }

    pub(crate) fn roll(&mut self, key: ApiKey, retire_at: Timestamp) {
        let now = key.created_at;
        for old in &mut self.0 {
            if old.name == key.name && old.state(now) == KeyState::Live {
                old.expires_at = Some(old.expires_at.map_or(retire_at, |own| own.min(retire_at)));
            }
        }
        self.0.push(key);
    }

    pub(crate) fn revoke(&mut self, selector: &KeySelector, at: Timestamp) -> Vec<ApiKey> {
        let mut revoked = Vec::new();
        for key in &mut self.0 {
            let chosen = match selector {
                KeySelector::Id(id) => key.id == *id,
                KeySelector::Name(name) => key.name == *name,
            };
            if chosen && key.revoked_at.is_none() {
                key.revoked_at = Some(at);
                revoked.push(key.clone());
            }
        }
        revoked
    }

    pub(crate) fn note_use(&mut self, id: KeyId, at: Timestamp) {
        for key in self.0.iter_mut().filter(|key| key.id == id) {
            key.last_used_at = key.last_used_at.max(Some(at));
        }
    }

    /// Whether `id` may be given to a new key.
    pub(crate) fn is_above_all(&self, id: KeyId) -> bool {
        self.0.last().is_none_or(|last| last.id < id)
    }

    /// The identifier of one of the keys, or one that none has.
    pub(crate) fn some_id(&self, number: u32) -> KeyId {
        let index = number as usize % (self.0.len() + 1);
        self.0.get(index).map_or(KeyId(i64::MAX - 1), |key| key.id)
    }
}
