//! The expected API keys.

use petstore_domain::{ApiKey, KeyId, Timestamp};

/// All keys, ascending by identifier.
#[derive(Debug, Default)]
pub(crate) struct KeyModel {
    keys: Vec<ApiKey>,
    /// The highest identifier ever assigned.
    highest: i64,
}

impl KeyModel {
    pub(crate) fn list(&self) -> &Vec<ApiKey> {
        &self.keys
    }

    pub(crate) fn add(&mut self, key: ApiKey) {
        self.highest = key.id.0;
        self.keys.push(key);
    }

    /// Writes every field of a key, except its last use.
    pub(crate) fn save(&mut self, key: &ApiKey) {
        for stored in self.keys.iter_mut().filter(|stored| stored.id == key.id) {
            *stored = ApiKey { last_used_at: stored.last_used_at, ..key.clone() };
        }
    }

    pub(crate) fn remove(&mut self, id: KeyId) {
        self.keys.retain(|key| key.id != id);
    }

    pub(crate) fn note_use(&mut self, id: KeyId, at: Timestamp) {
        for key in self.keys.iter_mut().filter(|key| key.id == id) {
            key.last_used_at = key.last_used_at.max(Some(at));
        }
    }

    /// Returns whether a new key may have the identifier `id`.
    pub(crate) fn is_above_all(&self, id: KeyId) -> bool {
        id.0 > self.highest
    }

    /// Returns a random key or `None`. `None` is as likely as each key.
    pub(crate) fn some_key(&self, number: u32) -> Option<&ApiKey> {
        self.keys.get(number as usize % (self.keys.len() + 1))
    }

    /// Returns the identifier of a random key, or an unused identifier.
    pub(crate) fn some_id(&self, number: u32) -> KeyId {
        self.some_key(number).map_or(KeyId(i64::MAX - 1), |key| key.id)
    }
}
