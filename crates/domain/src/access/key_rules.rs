//! The rules for adding, rolling and revoking keys: pure functions over the key list of a store.

use std::time::Duration;

use crate::{
    access::{
        key::{ApiKey, KeyId, KeyState, NewApiKey},
        key_store::{MAX_KEYS_PER_SAVE, StoredKeys},
        name::KeyName,
        secret::KeyRights,
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// The largest number of live keys in one store, because a service keeps all live keys in memory.
pub(crate) const MAX_LIVE_KEYS: usize = 10_000;
/// The largest number of revoked and expired keys that are kept. The keys that ended first are removed first.
const MAX_DEAD_KEYS: usize = 10_000;
/// The largest number of live keys with one name, because a roll retires all of them in one save.
const MAX_OF_ONE_NAME: usize = 50;

/// A key is reported as expiring soon for this time before its expiry.
const EXPIRY_NOTICE: Duration = Duration::from_hours(14 * 24);

/// A selection of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySelector {
    /// The key with this identifier.
    Id(KeyId),
    /// Every key with this name.
    Name(KeyName),
}

impl KeySelector {
    fn selects(&self, id: Option<KeyId>, name: Option<&str>) -> bool {
        match self {
            Self::Id(selected) => id == Some(*selected),
            Self::Name(selected) => name == Some(selected.as_str()),
        }
    }
}

/// An API key could not be added or rolled.
#[derive(Debug, thiserror::Error)]
pub enum KeyChangeError {
    /// A key cannot be added, because a live key has its name.
    #[error("a live key already has this name")]
    NameTaken,
    /// A key cannot be rolled, because no live key has its name.
    #[error("no live key has this name")]
    NoSuchKey,
    /// Earlier rolls have left the largest number of live keys with this name.
    #[error(
        "{0} keys of this name are still live, which is the maximum; revoke some of them by their \
         identifiers, or wait until they expire"
    )]
    TooManyOfOneName(usize),
    /// The store holds the largest number of live keys.
    #[error("the store already holds {0} live keys, which is the maximum")]
    TooManyKeys(usize),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The keys that one save writes, and the keys that it removes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyChange {
    pub(crate) changed: Vec<ApiKey>,
    pub(crate) removed: Vec<KeyId>,
}

impl StoredKeys {
    /// Returns `key` with its identifier, and the change to save. The name is checked before the number of keys.
    ///
    /// With `retire_at`, the addition is a roll: the live keys of the name change too, and expire at `retire_at` at the
    /// latest.
    pub(crate) fn add(
        &self,
        key: NewApiKey,
        retire_at: Option<Timestamp>,
    ) -> Result<(ApiKey, KeyChange), KeyChangeError> {
        let now = key.created_at;
        self.require_readable(&KeySelector::Name(key.name.clone()))?;
        let live: Vec<_> = self.live_of(&key.name, now).cloned().collect();
        let mut changed: Vec<_> = match (live.len(), retire_at) {
            (0, None) => Vec::new(),
            (_, None) => return Err(KeyChangeError::NameTaken),
            (0, Some(_)) => return Err(KeyChangeError::NoSuchKey),
            (MAX_OF_ONE_NAME.., Some(_)) => {
                return Err(KeyChangeError::TooManyOfOneName(MAX_OF_ONE_NAME));
            }
            (_, Some(at)) => live.into_iter().map(|key| key.retired(at)).collect(),
        };
        let key = self.number(key)?;
        changed.push(key.clone());
        Ok((key, self.with_pruning(changed, now)))
    }

    /// Returns the selected keys that are not revoked yet, with the revocation time `at`, and the change to save.
    /// Returns at most [`MAX_KEYS_PER_SAVE`] keys, the live keys first.
    pub(crate) fn revoke(
        &self,
        selector: &KeySelector,
        at: Timestamp,
    ) -> Result<(Vec<ApiKey>, KeyChange), StoreError> {
        self.require_readable(selector)?;
        let left = self.keys.iter().filter(|key| key.revoked_at.is_none());
        let selected = left.filter(|key| selector.selects(Some(key.id), Some(key.name.as_str())));
        let mut left: Vec<_> = selected.collect();
        left.sort_by_key(|key| key.state(at) != KeyState::Live);
        let revoked = |key: &ApiKey| ApiKey { revoked_at: Some(at), ..key.clone() };
        let changed: Vec<_> = left.into_iter().take(MAX_KEYS_PER_SAVE).map(revoked).collect();
        Ok((changed.clone(), KeyChange { changed, removed: Vec::new() }))
    }

    /// Returns the live keys, ascending by identifier.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
        self.keys.iter().filter(move |key| key.state(now) == KeyState::Live)
    }

    /// Returns the rights of the newest live key with this name; read-only if there is none.
    #[must_use]
    pub fn rights_of(&self, name: &KeyName, now: Timestamp) -> KeyRights {
        self.live_of(name, now).last().map_or(KeyRights::ReadOnly, |key| key.rights)
    }

    /// Returns the lifetime of the newest live key with this name, from creation to expiry. Returns `None` if the key
    /// never expires, or if no live key has this name.
    #[must_use]
    pub fn lifetime_of(&self, name: &KeyName, now: Timestamp) -> Option<Duration> {
        let key = self.live_of(name, now).last()?;
        key.expires_at.map(|end| end.since(key.created_at).unwrap_or_default())
    }

    /// Returns the live keys that expire within two weeks and have no successor. A successor is a newer live key of the
    /// same name.
    pub fn expiring_soon(&self, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
        self.live(now).filter(move |key| {
            let is_soon = key.expires_at.is_some_and(|end| end <= now.plus(EXPIRY_NOTICE));
            is_soon && !self.live_of(&key.name, now).any(|other| other.id > key.id)
        })
    }

    fn live_of(&self, name: &KeyName, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
        self.live(now).filter(move |key| key.name == *name)
    }

    /// Returns an error if a corrupt row may be a selected key, because the state of a corrupt row is unknown.
    fn require_readable(&self, selector: &KeySelector) -> Result<(), StoreError> {
        let mut corrupt = self.corrupt.iter();
        let found = corrupt.find(|row| selector.selects(row.id, row.name.as_deref()));
        found.map_or(Ok(()), |found| Err(found.corruption.clone().into()))
    }

    /// Returns `key` with the next identifier. Does not compare the digest of `key` with stored digests, because a
    /// store refuses a digest that it holds already.
    fn number(&self, key: NewApiKey) -> Result<ApiKey, KeyChangeError> {
        if self.live(key.created_at).count() >= MAX_LIVE_KEYS {
            return Err(KeyChangeError::TooManyKeys(MAX_LIVE_KEYS));
        }
        let ids = self.keys.iter().map(|key| key.id);
        let mut taken = ids.chain(self.corrupt.iter().filter_map(|corrupt| corrupt.id));
        if taken.any(|id| id >= self.next_id) {
            return Err(StoreError::refused("no identifier is left for an API key").into());
        }
        Ok(key.with_id(self.next_id))
    }

    /// Returns the change that saves `changed` and removes the ended keys above [`MAX_DEAD_KEYS`], as far as one save
    /// has room.
    fn with_pruning(&self, changed: Vec<ApiKey>, now: Timestamp) -> KeyChange {
        let dead = self.keys.iter().filter_map(|key| Some((key.ended_at(now)?, key.id)));
        let mut dead: Vec<_> = dead.collect();
        dead.sort_unstable();
        let room = MAX_KEYS_PER_SAVE.saturating_sub(changed.len());
        dead.truncate(dead.len().saturating_sub(MAX_DEAD_KEYS).min(room));
        KeyChange { changed, removed: dead.into_iter().map(|(_, id)| id).collect() }
    }
}

#[cfg(test)]
mod tests;
