//! Driven port: a whole store, for moving it.

use async_trait::async_trait;

use crate::{
    ApiKey, Fingerprint, Idempotency, NewPet, Pet, PetId, ReadError, RestoreError, Timestamp,
    Unavailable,
};

/// Opens a store for reading or writing as a whole.
///
/// Every adapter that implements [`PetRepository`](crate::PetRepository) and
/// [`ApiKeyRepository`](crate::ApiKeyRepository) on a store implements this on the same store.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Archive: Send + Sync {
    /// A view of all that is in the store now. What is written later does not show in it, and it
    /// holds up no writer.
    ///
    /// # Errors
    /// [`Unavailable`].
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, Unavailable>;

    /// Begins one transaction that writes what another store held.
    ///
    /// # Errors
    /// [`Unavailable`].
    async fn restore(&self) -> Result<Box<dyn Restore>, Unavailable>;
}

/// A consistent view of a store.
///
/// # Contract
/// - All methods see one state of the store, however long the view is kept.
/// - Batches come in ascending order of the key named; an empty one means that there is no more.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Snapshot: Send {
    /// How much the store holds.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn counts(&mut self) -> Result<StoreCounts, ReadError>;

    /// Up to `at_most` animals with identifiers above `after`, ascending by identifier.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, ReadError>;

    /// Every API key, ascending by identifier.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn keys(&mut self) -> Result<Vec<ApiKey>, ReadError>;

    /// Up to `at_most` idempotency records behind `after`, ascending by caller, then by key, both
    /// by their bytes.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn attempts(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<AttemptRecord>, ReadError>;
}

/// One transaction that writes what another store held.
///
/// # Contract
/// - Nothing is visible before `commit` has returned, and nothing ever is if this value is dropped
///   without it. After a failed method, only dropping is left.
/// - What is there already and equal is passed over: a restore may be repeated. What is there and
///   different is [`RestoreError::Conflict`], except as `keys` and `attempts` say.
/// - After a commit, the store assigns identifiers above every identifier restored, of animals and
///   of keys.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Restore: Send {
    /// Writes animals under their own identifiers; how many of them were not there before.
    ///
    /// # Errors
    /// [`RestoreError`].
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError>;

    /// Writes animals under new identifiers, in their order.
    ///
    /// # Errors
    /// [`RestoreError`], but never a conflict.
    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError>;

    /// Writes API keys under their own identifiers.
    ///
    /// A key lives on while it is moved: it is used, rolled and revoked. So a key that is there
    /// already and is the same one becomes [what both stores know of it](ApiKey::joined_with);
    /// a conflict is another key of that identifier, or the same digest under another identifier.
    ///
    /// # Errors
    /// [`RestoreError`].
    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError>;

    /// Writes idempotency records. Their animals must have been written before. One that is there
    /// already under the same caller and key is replaced if it is older (`at`): the key was used
    /// again when it had expired.
    ///
    /// # Errors
    /// [`RestoreError`].
    async fn attempts(&mut self, attempts: Vec<AttemptRecord>) -> Result<(), RestoreError>;

    /// Makes all of it visible and durable, at once.
    ///
    /// # Errors
    /// [`Unavailable`]; whether it has happened is then not known.
    async fn commit(self: Box<Self>) -> Result<(), Unavailable>;
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Animals.
    pub pets: u64,
    /// API keys, live or not.
    pub keys: u64,
    /// Idempotency records, expired or not.
    pub attempts: u64,
}

/// An idempotency record as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Whose key it is, and the key.
    pub idempotency: Idempotency,
    /// Of the animal that was added.
    pub fingerprint: Fingerprint,
    /// The animal that was added.
    pub pet: PetId,
    /// When it was added.
    pub at: Timestamp,
}
