//! Driven port: the archive, which reads and writes a whole store.

use std::fmt;

use async_trait::async_trait;

use crate::{
    access::key::ApiKey,
    catalogue::{
        idempotency::{IdempotencyId, IdempotencyRecord, IdempotencyRequest},
        pet::{NewPet, Pet, PetId},
    },
    error::StoreError,
    transfer::handover::Writer,
};

/// Opens a store for reading or writing as a whole.
///
/// An adapter that implements [`PetRepository`](crate::PetRepository) and
/// [`KeyStore`](crate::KeyStore) may implement this on the same store. Without it,
/// the store cannot be copied, verified, exported from or imported into; all else works.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Archive: Send + Sync {
    /// Returns a view of all that is in the store now. What is written later does not show in it, and it holds
    /// up no writer.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Writes a batch, all of it or nothing: it is visible and durable, at once, when this returns.
    ///
    /// # Contract
    /// - [`Resolution`](crate::Resolution) says what becomes of a row whose place is taken. An equal row that is
    ///   there already is kept, so a batch may be written again.
    /// - Afterwards, the store assigns identifiers above every one of the batch, of animals and of keys.
    /// - A batch from another [writer](Batch::writer) than the store's [state](crate::StoreState::permit) permits
    ///   is refused as [`StoreError::Sealed`].
    ///
    /// # Errors
    /// [`RestoreError`]; nothing was written then, but after [`StoreError::Unavailable`] that is not known.
    async fn write(&self, batch: Batch) -> Result<Written, RestoreError>;

    /// Returns how many rows, of all kinds together, one batch may have: at least 25, by default 10,000.
    fn max_batch(&self) -> usize {
        10_000
    }
}

/// What one call writes, in the order of the fields. `..Batch::default()` is nothing, written by a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Who writes.
    pub writer: Writer,
    /// Animals under their own identifiers.
    pub pets: Vec<Pet>,
    /// The store shall go on assigning identifiers of animals above this one, those of `new_pets` too.
    pub assign_above: Option<PetId>,
    /// Animals under new identifiers, ascending in their order.
    pub new_pets: Vec<NewPet>,
    /// Of `new_pets` as a whole: if it [is a repeat](IdempotencyRequest::decide), none of them is added. The
    /// record is that of the first of them.
    pub request: Option<IdempotencyRequest>,
    /// API keys under their own identifiers.
    pub keys: Vec<ApiKey>,
    /// Idempotency records, whose animals are there or in `pets`.
    pub records: Vec<IdempotencyRecord>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Animals that were not there before. Of `new_pets` none if the batch is a repeat, else all.
    pub added: u64,
}

/// A consistent view of a store.
///
/// # Contract
/// - All methods see one state of the store, however long the view is kept.
/// - Batches come in ascending order of the key named; an empty one means that there is no more.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Snapshot: Send {
    /// Returns how much the store holds.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn counts(&mut self) -> Result<StoreCounts, StoreError>;

    /// Returns up to `limit` animals with identifiers above `after`, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError>;

    /// Returns every API key, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError>;

    /// Returns up to `limit` idempotency records with ids above `after`, ascending by the bytes of the id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError>;
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

/// A batch could not be written.
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
    /// Makes the error of a store that holds another `what`, for example `API key 7`.
    pub fn conflict(what: impl fmt::Display) -> Self {
        Self::Conflict { what: what.to_string() }
    }
}
