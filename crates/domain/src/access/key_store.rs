//! Driven port: the store of API keys.

use async_trait::async_trait;

use crate::{
    access::{
        key::{ApiKey, KeyId},
        stored_keys::{KeyRevision, StoredKeys},
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// The limit of the keys that one [`save`](KeyStore::save) writes and removes: a store need not be able
/// to make a larger transaction.
pub const MAX_KEYS_PER_SAVE: usize = 100;

/// Keeps API keys, as digests alone. What may be stored, and what becomes of a key, are rules of the
/// domain (such as [`add_key`](crate::add_key)); a store keeps the list and compares its revision.
///
/// # Contract
/// - As for [`PetRepository`](crate::PetRepository): atomic, durable, [`StoreError::Unavailable`] is
///   bounded and passes.
/// - Every change of keys, whoever makes it, gives the list another revision, and a use gives it none. A
///   revision is random: it never comes again, in no other store either.
/// - No identifier is assigned twice, also when its key was removed.
/// - The digests of two keys differ.
/// - A corrupt row costs its own key and no other: it is named beside the keys that can be read, and the
///   others can be changed as ever.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Returns every key, live or not; `None` if the revision is still `unless`. Without `unless`, it is
    /// never `None`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError>;

    /// Writes and removes keys if the revision is still `expected`: at most [`MAX_KEYS_PER_SAVE`] of
    /// `changed` and `removed` together. A changed key is written whole if its identifier is new, and those
    /// are [`next_id`](StoredKeys::next_id) and above. Of a key that is there, it becomes what both say
    /// ([`ApiKey::merged_with`]), so that no write undoes a revocation or a use. An identifier to be removed
    /// that does not exist is skipped.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError>;

    /// Stores when keys were last used. An identifier that does not exist is skipped, and so is a time
    /// before the one already stored. The revision stays.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError>;
}

/// Whether keys were saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// They were.
    Yes,
    /// Somebody has changed keys since they were loaded. Nothing was changed.
    Lost,
}

/// Returns every key of `store`.
///
/// # Errors
/// [`StoreError`].
pub async fn load_keys(store: &dyn KeyStore) -> Result<StoredKeys, StoreError> {
    let loaded = store.load(None).await?;
    loaded.ok_or_else(|| StoreError::unavailable("the store has not given its keys"))
}
