//! Driven port: where the animals are kept.

use async_trait::async_trait;

use crate::{
    AddError, CatalogueVersion, IdempotencyAttempt, NewPet, Pet, PetId, PetPage, PetQuery,
    ReadError, Timestamp, Unavailable, Versioned,
};

/// Keeps the catalogue of animals.
///
/// # Contract
/// - Every method is atomic: it happens whole or not at all, also when its future is dropped half
///   way. A caller who drops the future of `add` does not know which.
/// - What has been acknowledged is durable as far as the store promises at all, and every later
///   read sees it.
/// - Identifiers grow in the order of acknowledgement as one caller sees it, and none is assigned
///   twice. Values come back exactly as they were given.
/// - A row that breaks a rule of the domain is [`ReadError::Corrupt`], neither a panic nor silence.
/// - A store that cannot answer is [`Unavailable`] within a bounded time, and answers again by
///   itself once it can.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PetRepository: Send + Sync {
    /// Adds an animal under a new identifier, and with it, in the same transaction, the record of
    /// the attempt if there is one.
    ///
    /// If a record of the same caller and key exists that is younger than `attempt.expired`,
    /// nothing is added: with the same fingerprint the answer is [`Added::Before`] and the animal
    /// of that record. Attempts that run at the same time add one animal between them.
    ///
    /// # Errors
    /// [`AddError::IdempotencyKeyReused`] if such a record has another fingerprint.
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyAttempt>,
    ) -> Result<Added, AddError>;

    /// The animal `id`, or `None` if there is none.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, ReadError>;

    /// The animals that match `query`, ascending by identifier, at most `query.limit`, and whether
    /// at least one more matches behind them. Following the last identifier of each page yields
    /// every animal that existed when the walk began exactly once, whatever is added meanwhile.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, ReadError>;

    /// The mark of the catalogue's state, without asking the store anything that takes long; `None`
    /// if this store cannot tell cheaply.
    ///
    /// Two reads that carry the same mark saw the same state. An addition acknowledged by this
    /// value changes the mark before it is acknowledged; one by anybody else on the same store
    /// changes it within 100 ms. A mark never comes back for another state, restarts included.
    fn version(&self) -> Option<CatalogueVersion>;

    /// Forgets up to `at_most` idempotency records from `expired` or before; how many there were.
    ///
    /// # Errors
    /// [`Unavailable`].
    async fn forget_attempts(&self, expired: Timestamp, at_most: u32) -> Result<u32, Unavailable>;
}

/// What became of an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// The animal was added now.
    Now(Pet),
    /// The attempt is a repeat: the animal was added by an earlier one.
    Before(Pet),
}
