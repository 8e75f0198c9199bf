//! Driven port: where the API keys are kept.

use async_trait::async_trait;

use crate::{
    AddKeyError, ApiKey, KeyId, KeyName, NewApiKey, ReadError, RollKeyError, Timestamp, Unavailable,
};

/// Keeps API keys, never in clear.
///
/// # Contract
/// - As for [`PetRepository`](crate::PetRepository): atomic, durable, corrupt rows are named,
///   [`Unavailable`] is bounded and passes.
/// - Among the keys live at one time no two have the same name, except those that a roll is still
///   letting expire beside their successor.
/// - The name is judged before the number of live keys.
/// - A digest that is stored already is not stored again: that cannot happen by chance, so it is
///   [`Unavailable`].
/// - Keys are never deleted: a revoked or expired one stays listed.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ApiKeyRepository: Send + Sync {
    /// Stores a key under a new identifier.
    ///
    /// # Errors
    /// [`AddKeyError::NameTaken`] if a key that is live at `key.created_at` has this name;
    /// [`AddKeyError::TooManyKeys`] if `most` keys are live then.
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError>;

    /// Stores a key under a new identifier, and lets every live key of the same name expire at
    /// `retire_at`, unless it expires before.
    ///
    /// # Errors
    /// [`RollKeyError::NoSuchKey`] if no key that is live at `key.created_at` has this name;
    /// [`RollKeyError::TooManyKeys`] if `most` keys are live then.
    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError>;

    /// Revokes what `selector` names: the keys that were not revoked yet, as they are now. Empty
    /// if there is none.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn revoke(&self, selector: KeySelector, at: Timestamp) -> Result<Vec<ApiKey>, ReadError>;

    /// Every key there ever was, ascending by identifier.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn list(&self) -> Result<Vec<ApiKey>, ReadError>;

    /// The keys that are live at `now`, ascending by identifier.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, ReadError>;

    /// Notes when keys were last used. An identifier that does not exist is passed over, and so
    /// is a time before the one already noted.
    ///
    /// # Errors
    /// [`Unavailable`].
    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), Unavailable>;
}

/// Names keys to be revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySelector {
    /// The one with this identifier.
    Id(KeyId),
    /// Every one with this name.
    Name(KeyName),
}
