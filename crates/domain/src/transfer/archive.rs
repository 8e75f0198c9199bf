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

/// Opens a store for reading or writing as a whole.
///
/// An adapter that implements [`PetRepository`](crate::PetRepository) and
/// [`KeyStore`](crate::KeyStore) may implement this trait for the same store. A store without it
/// cannot be copied, verified, exported from or imported into; everything else works.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Archive: Send + Sync {
    /// Returns a view of everything that the store holds now, in any [phase](crate::Phase). Later
    /// writes do not show in it, and it blocks no writer. Taking it checks nothing: a command that
    /// looks for damage reads the rows.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Stores rows under their own identifiers, all of them or none. The rows are durable and
    /// visible when this returns. Returns the number of animals that the store did not hold before.
    ///
    /// # Contract
    /// - [`Resolution`](crate::Resolution) decides what happens to a row whose place is taken. A row
    ///   that the store holds already is kept, so the same rows may be written again.
    /// - The store then assigns identifiers above those of every row, and above
    ///   [`Rows::highest`], also after it was opened again.
    /// - Rows with animals count as one [rewrite](crate::StoreState::rewrites), unless the store
    ///   held all of them.
    /// - The store checks [`permit_write`](crate::StoreState::permit_write) in the same transaction.
    ///
    /// # Errors
    /// [`ArchiveError`]. Nothing was written, but after [`StoreError::Unavailable`] that is not
    /// known.
    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError>;

    /// Adds animals under new identifiers that ascend in their order, all of them or none. Returns
    /// how many animals were added: all, or none if the request
    /// [is a repeat](IdempotencyRequest::decide). The request's record names the first animal.
    ///
    /// # Errors
    /// [`ArchiveError`], as for [`write_rows`](Self::write_rows).
    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError>;

    /// Returns how many rows, of all kinds together, one call may write: at least 25.
    fn max_batch(&self) -> usize {
        10_000
    }
}

/// Rows that one call of [`Archive::write_rows`] stores. A store writes animals first, so a record
/// may name an animal of the same call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Animals under their own identifiers.
    pub pets: Vec<Pet>,
    /// API keys under their own identifiers.
    pub keys: Vec<ApiKey>,
    /// Idempotency records. The store need not hold their animals.
    pub records: Vec<IdempotencyRecord>,
    /// The store assigns identifiers above these from now on.
    pub highest: HighestIds,
}

/// The highest identifiers that a store has ever assigned or stored, also if their rows are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighestIds {
    /// Of animals; `None` if there never was one.
    pub pet: Option<PetId>,
    /// Of API keys; `None` if there never was one.
    pub key: Option<KeyId>,
}

/// A consistent view of a store.
///
/// # Contract
/// - All methods see one state of the store, as long as the view is kept. A store that cannot keep
///   a view any longer returns [`StoreError::Unavailable`].
/// - Rows come in ascending order, and a list of less than `limit` means that no row follows.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Snapshot: Send {
    /// Returns how many rows the store holds.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn counts(&mut self) -> Result<StoreCounts, StoreError>;

    /// Returns the highest identifiers ever assigned or stored. Cheap: it counts no rows. While the store is not open,
    /// a write that it refuses does not raise them, not even in a later snapshot.
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
    /// [`StoreError`], also for a row that is not a key.
    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError>;

    /// Returns up to `limit` idempotency records behind `after`, ascending by position, also those
    /// whose animal is gone.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError>;
}

/// The place of an idempotency record in a [`Snapshot`]: ordered by animal, then by the bytes of the
/// record's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPosition {
    /// The animal that the request added.
    pub pet: PetId,
    /// The record's id.
    pub id: IdempotencyId,
}

impl RecordPosition {
    /// Returns the position behind every record of `pet` and of lower animals.
    #[must_use]
    pub const fn end_of(pet: PetId) -> Self {
        Self { pet, id: IdempotencyId([u8::MAX; 16]) }
    }
}

impl IdempotencyRecord {
    /// Returns the record's place in a [`Snapshot`].
    #[must_use]
    pub const fn position(&self) -> RecordPosition {
        RecordPosition { pet: self.pet, id: self.id }
    }
}

/// How many rows a store holds.
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
    /// The store holds another row in this place.
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
    /// Makes the error of a store that holds another `what`, for example `API key 7`.
    pub fn conflict(what: impl fmt::Display) -> Self {
        Self::Conflict { what: what.to_string() }
    }
}
