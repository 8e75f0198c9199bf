//! Driven port: the repository of animals.

use async_trait::async_trait;

use crate::{
    catalogue::{
        idempotency::IdempotencyRequest,
        page::{PetPage, PetQuery},
        pet::{NewPet, Pet, PetId},
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// Keeps the catalogue of animals.
///
/// # Contract
/// - Every method is atomic: it takes effect whole or not at all, even if its future is dropped before it completes. A
///   caller that drops the future of `add` cannot tell whether the animal was added.
/// - An acknowledged write is as durable as the store promises, and every later read sees it.
/// - One caller sees identifiers ascend in the order of acknowledgment. No identifier is assigned twice.
/// - Values come back exactly as they were stored.
/// - A row that breaks a rule of the domain fails the call with [`StoreError::Corrupt`]. Such a row is never ignored
///   and never causes a panic.
/// - A store that cannot answer returns [`StoreError::Unavailable`] within a bounded time, and recovers
///   without a restart.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetRepository: Send + Sync {
    /// Adds an animal under a new identifier. A `request` is recorded in the same transaction.
    ///
    /// [`IdempotencyRequest::decide`] decides by the record that is stored under the id of the request. A replay
    /// returns `pet` under the recorded identifier, even if the row has changed since. If equal requests run at the
    /// same time, only one of the requests adds an animal.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError>;

    /// Returns the animal `id`, or `None` if there is none, with the version of the snapshot.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError>;

    /// Returns the page of `query`. In a walk, each query continues after the last animal of the previous page. A walk
    /// returns every animal that existed at its start exactly once, even if animals are added meanwhile.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError>;

    /// Returns the version of the catalogue without waiting for the store. Returns `None` if the version is not known
    /// now, if the store is not open, or if the store has no cheap way to read the version (the default).
    ///
    /// An addition through this repository changes the version before it is acknowledged. An addition by another
    /// process changes the version within 100 ms.
    fn version(&self) -> Option<CatalogueVersion> {
        None
    }

    /// Deletes up to `limit` idempotency records made at or before `cutoff`. A store may delete fewer in one call and
    /// set [`Purged::more`].
    ///
    /// # Errors
    /// [`StoreError`].
    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError>;
}

/// The outcome of one purge of idempotency records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// The number of deleted records.
    pub deleted: u32,
    /// `true` if a record made at or before the cutoff may be left.
    pub more: bool,
}

impl Purged {
    /// Makes the outcome of a store that deletes as many records as there are, up to `limit`.
    #[must_use]
    pub const fn up_to(limit: u32, deleted: u32) -> Self {
        Self { deleted, more: deleted >= limit }
    }
}

/// Identifies one state of the catalogue. Two reads with the same version saw the same state. No other state ever gets
/// the version, even after a restart. Versions have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogueVersion(pub u128);

/// A value and the catalogue version of the snapshot it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value that was read.
    pub value: T,
    /// The version; `None` if the store is sealed, or has no cheap way to read the version.
    pub version: Option<CatalogueVersion>,
}

/// The outcome of an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// The call added this animal.
    Created(Pet),
    /// An earlier request added this animal. Contains the animal of this call under the recorded identifier.
    Replayed(Pet),
}

/// An animal could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The caller has used the idempotency key for another animal.
    #[error("the idempotency key was used for another animal")]
    IdempotencyKeyReused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
