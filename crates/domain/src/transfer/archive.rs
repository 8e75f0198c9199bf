//! Driven port: the archive, which reads and writes a whole store.

use std::fmt;

use async_trait::async_trait;

use crate::{
    access::key::{ApiKey, KeyId},
    catalogue::{
        idempotency::{IdempotencyId, IdempotencyRecord, IdempotencyRequest},
        pet::{NewPet, Pet, PetId},
    },
    error::StoreError,
    transfer::handover::WriterRole,
};

/// Reads and writes a store as a whole.
///
/// Optional for an adapter that implements [`PetRepository`](crate::PetRepository) and [`KeyStore`](crate::KeyStore). A
/// store without this port cannot be copied, moved, verified, exported or imported into. Everything else works.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Archive: Send + Sync {
    /// Returns a snapshot of the whole store, in any [phase](crate::Phase). The snapshot does not show later writes and
    /// blocks no writer. No row is checked until it is read.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Stores rows under their own identifiers, all of them or none. The rows are durable and visible when the call
    /// returns. Returns the number of animals that the store did not hold before.
    ///
    /// # Contract
    /// - [`Resolution`](crate::Resolution) decides about a row in conflict with a stored row. A row that the store
    ///   already holds is kept, so a call may be repeated.
    /// - From then on, the store assigns identifiers above the identifiers of all rows and above [`Rows::highest`],
    ///   even after the store was opened again.
    /// - A call that adds animals counts as one [rewrite](crate::StoreState::rewrites).
    /// - The store checks [`permit_write`](crate::StoreState::permit_write) in the same transaction.
    ///
    /// # Errors
    /// [`ArchiveError`]. After [`StoreError::Unavailable`], the rows may or may not be written. After any other error,
    /// nothing was written.
    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError>;

    /// Adds all animals or none, under new identifiers that ascend in the order of `pets`. The record of `request` has
    /// the identifier of the first animal. Returns the number of added animals, which is 0 if the request [is a
    /// repeat](IdempotencyRequest::decide).
    ///
    /// # Errors
    /// [`ArchiveError`], as for [`write_rows`](Self::write_rows).
    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError>;

    /// Returns the largest number of rows, of all kinds together, that one call may write: at least 25.
    fn max_batch(&self) -> usize {
        10_000
    }
}

/// The rows of one call of [`Archive::write_rows`]. A record may name an animal of the same call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Animals under their own identifiers.
    pub pets: Vec<Pet>,
    /// API keys under their own identifiers.
    pub keys: Vec<ApiKey>,
    /// Idempotency records, also of animals that the store does not hold.
    pub records: Vec<IdempotencyRecord>,
    /// After the call, the store assigns new identifiers above these identifiers.
    pub highest: HighestIds,
}

/// The highest identifiers that a store has ever assigned or stored, even if their rows are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighestIds {
    /// The highest identifier of an animal; `None` if there never was an animal.
    pub pet: Option<PetId>,
    /// The highest identifier of an API key; `None` if there never was a key.
    pub key: Option<KeyId>,
}

/// A consistent snapshot of a store.
///
/// # Contract
/// - All methods see the same state of the store. A store that cannot keep the state any longer returns
///   [`StoreError::Unavailable`].
/// - Rows come in ascending order. A list of fewer than `limit` rows is the last.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Snapshot: Send {
    /// Returns the number of rows of each kind.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn counts(&mut self) -> Result<StoreCounts, StoreError>;

    /// Returns the highest identifiers ever assigned or stored, without reading all rows. A write that is refused
    /// because the store is not open never raises these identifiers.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError>;

    /// Returns up to `limit` animals with identifiers above `after`, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError>;

    /// Returns every API key, ascending by identifier.
    ///
    /// # Errors
    /// [`StoreError`], also for a corrupt row.
    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError>;

    /// Returns up to `limit` idempotency records after `after`, ascending by position, also of animals that are gone.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError>;
}

/// The position of an idempotency record in a [`Snapshot`]: ordered by animal, then by the bytes of the record's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPosition {
    /// The animal that the request has added.
    pub pet: PetId,
    /// The id of the record.
    pub id: IdempotencyId,
}

impl RecordPosition {
    /// Returns the position after every record of `pet` and of animals with lower identifiers.
    #[must_use]
    pub const fn end_of(pet: PetId) -> Self {
        Self { pet, id: IdempotencyId([u8::MAX; 16]) }
    }
}

impl IdempotencyRecord {
    /// Returns the position of the record in a [`Snapshot`].
    #[must_use]
    pub const fn position(&self) -> RecordPosition {
        RecordPosition { pet: self.pet, id: self.id }
    }
}

/// The number of rows in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Animals.
    pub pets: u64,
    /// API keys, live or not.
    pub keys: u64,
    /// Idempotency records, expired or not.
    pub records: u64,
}

/// Rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The store holds another animal under this identifier.
    #[error("the target already holds another animal {0}")]
    OtherPet(PetId),
    /// The store holds another API key under this identifier or digest, or another record under this id.
    #[error("the target already holds another {what}")]
    Conflict {
        /// The row, for example `API key 7`.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ArchiveError {
    /// Makes a [`Conflict`](Self::Conflict) error: the store holds another `what`, for example `API key 7`.
    pub fn conflict(what: impl fmt::Display) -> Self {
        Self::Conflict { what: what.to_string() }
    }
}
