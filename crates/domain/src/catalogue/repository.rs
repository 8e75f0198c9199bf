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
/// - Every method is atomic: it happens whole or not at all, also when its future is dropped half
///   way. A caller that drops the future of `add` does not know which.
/// - What has been acknowledged is durable as far as the store promises at all, and every later
///   read sees it.
/// - Identifiers grow in the order of acknowledgement as one caller sees it, and none is assigned
///   twice. Values come back exactly as they were given.
/// - A row that breaks a rule of the domain is [`StoreError::Corrupt`], neither a panic nor silence.
/// - A store that cannot answer is [`StoreError::Unavailable`] within a bounded time, and answers
///   again by itself once it can.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetRepository: Send + Sync {
    /// Adds an animal under a new identifier, and with it, in the same transaction, the idempotency
    /// record if there is a `request` for one.
    ///
    /// [`IdempotencyRequest::decide`] says what a record that is stored under the request's id
    /// means. A replay returns `pet` under the recorded identifier, whatever has been done to the
    /// row since. Requests that run at the same time add one animal between them.
    ///
    /// # Errors
    /// [`AddError`].
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError>;

    /// Returns the animal `id`, or `None` if there is none, with the version of the state in which
    /// it was looked for.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError>;

    /// Returns the animals that match `query`, ascending by identifier, at most `query.limit`, and whether at
    /// least one more matches behind them. Following the last identifier of each page yields every animal that
    /// existed when the walk began exactly once, whatever is added meanwhile.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError>;

    /// Returns the version of the catalogue, without a call to the store that takes long; `None`, as by default, if this
    /// store has no cheap way to know it.
    ///
    /// Two reads that carry the same version saw the same state. An addition acknowledged by this
    /// value changes the version before it is acknowledged; an addition to the same store by another
    /// process changes it within 100 ms. A version never comes back for another state, restarts included.
    fn version(&self) -> Option<CatalogueVersion> {
        None
    }

    /// Deletes up to `limit` idempotency records made at `cutoff` or before, and skips younger ones. Returns what was
    /// done: a store that deletes fewer at once than `limit` says that there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError>;
}

/// The outcome of one purge of idempotency records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// How many were deleted.
    pub deleted: u32,
    /// `true` if there may be more to delete. If not, none is left that was made at the cutoff or before.
    pub more: bool,
}

impl Purged {
    /// Returns what a store did that deletes as many as there are, up to `limit`.
    #[must_use]
    pub const fn up_to(limit: u32, deleted: u32) -> Self {
        Self { deleted, more: deleted >= limit }
    }
}

/// Identifies one state of the catalogue. Two reads of one version give the same answer; a version
/// never comes back for another state, restarts included. Versions have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogueVersion(pub u128);

/// A value and the catalogue version of the snapshot it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value that was read.
    pub value: T,
    /// `None` when the store has no cheap way to know the version, or is sealed.
    pub version: Option<CatalogueVersion>,
}

/// The outcome of an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// The animal was created by this call.
    Created(Pet),
    /// An earlier request created the animal, and nothing was added: the animal of this request
    /// under the recorded identifier.
    Replayed(Pet),
}

/// An animal could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The idempotency key belongs to another animal of the same caller.
    #[error("the idempotency key was used for another animal")]
    IdempotencyKeyReused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
