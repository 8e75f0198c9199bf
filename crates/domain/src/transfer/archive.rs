//! Driven port: the archive, which reads and writes a whole store.

use std::fmt;

use async_trait::async_trait;

use crate::{
    access::key::ApiKey,
    catalogue::{
        idempotency::{IdempotencyId, IdempotencyRecord},
        pet::{NewPet, Pet, PetId},
    },
    error::StoreError,
};

/// Opens a store for reading or writing as a whole.
///
/// An adapter that implements [`PetRepository`](crate::PetRepository) and
/// [`KeyStore`](crate::KeyStore) may implement this on the same store. Without it,
/// the store cannot be copied, verified, exported from or imported into; all else works.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Archive: Send + Sync {
    /// A view of all that is in the store now. What is written later does not show in it, and it
    /// holds up no writer.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Begins one transaction that writes what another store held.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError>;
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
    /// [`StoreError`].
    async fn counts(&mut self) -> Result<StoreCounts, StoreError>;

    /// Up to `limit` animals with identifiers above `after`, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError>;

    /// Every API key, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError>;

    /// Up to `limit` idempotency records with ids above `after`, ascending by the bytes of the id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError>;
}

/// One transaction that writes what another store held.
///
/// # Contract
/// - Nothing is visible before `commit` has returned, and nothing ever is if this value is dropped
///   without it. After a failed method, only dropping is left.
/// - [`Resolution`](crate::Resolution) says what becomes of a row whose place is taken. An equal row
///   that is there already is kept: a restore may be repeated.
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
    /// # Errors
    /// [`RestoreError`].
    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError>;

    /// Writes idempotency records. Their animals must have been written before.
    ///
    /// # Errors
    /// [`RestoreError`].
    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError>;

    /// Makes all of it visible and durable, at once.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Animals.
    pub pets: u64,
    /// API keys, live or not.
    pub keys: u64,
    /// Idempotency records, expired or not.
    pub idempotency_records: u64,
}

/// Something could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store holds another animal under this identifier.
    #[error("the target already holds another animal {0}")]
    OtherPet(PetId),
    /// The store holds something else in its place.
    #[error("the target already holds another {what}")]
    Conflict {
        /// Which, for example `API key 7`.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RestoreError {
    /// The store holds another `what`, for example `API key 7`.
    pub fn conflict(what: impl fmt::Display) -> Self {
        Self::Conflict { what: what.to_string() }
    }
}
