//! Driven port: the repository of API keys.

use async_trait::async_trait;

use crate::{
    access::{
        key::{ApiKey, KeyId, NewApiKey},
        name::KeyName,
        stored_keys::StoredKeys,
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// Keeps API keys, as digests alone.
///
/// # Contract
/// - As for [`PetRepository`](crate::PetRepository): atomic, durable, corrupt rows are named,
///   [`StoreError::Unavailable`] is bounded and passes.
/// - No two live keys have the same name, except those that a roll has retired and that have not
///   expired yet.
/// - [`LiveKeys`](crate::LiveKeys) says whether a key may be added or rolled.
/// - A digest that is stored already is not stored again.
/// - Keys are never deleted: a revoked or expired one stays listed.
/// - A corrupt row costs its own key and no other: [`list`](Self::list) and [`live`](Self::live) name it
///   beside the keys that could be read, and the other keys are added, rolled and revoked as ever.
///   Rolling or revoking the key of a corrupt row is [`StoreError::Corrupt`] and changes nothing.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ApiKeyRepository: Send + Sync {
    /// Stores a key under a new identifier.
    ///
    /// # Errors
    /// [`AddKeyError::NameTaken`] if a key that is live at `key.created_at` has this name;
    /// [`AddKeyError::TooManyKeys`] if `max` keys are live then.
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError>;

    /// Stores a key under a new identifier, and [retires](ApiKey::retired) every live key of the same
    /// name at `retire_at`.
    ///
    /// # Errors
    /// [`RollKeyError::NoSuchKey`] if no key that is live at `key.created_at` has this name;
    /// [`RollKeyError::TooManyKeys`] if `max` keys are live then.
    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError>;

    /// Revokes what `selector` names: the keys that were not revoked yet, as they are now. Empty
    /// if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn revoke(&self, selector: KeySelector, at: Timestamp)
    -> Result<Vec<ApiKey>, StoreError>;

    /// Every key, revoked and expired ones too, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self) -> Result<StoredKeys, StoreError>;

    /// The keys that are live at `now`, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError>;

    /// Stores when keys were last used. An identifier that does not exist is skipped, and so is a time
    /// before the one already stored.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError>;
}

/// Names keys to be revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySelector {
    /// The one with this identifier.
    Id(KeyId),
    /// Every one with this name.
    Name(KeyName),
}

/// An API key could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    /// A live key has this name.
    #[error("a live key already has this name")]
    NameTaken,
    /// The store holds as many live keys as it may.
    #[error("the store already holds {0} live keys, which is the maximum")]
    TooManyKeys(u32),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An API key could not be rolled.
#[derive(Debug, thiserror::Error)]
pub enum RollKeyError {
    /// No live key has this name.
    #[error("no live key has this name")]
    NoSuchKey,
    /// See [`AddKeyError::TooManyKeys`].
    #[error("the store already holds {0} live keys, which is the maximum")]
    TooManyKeys(u32),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
