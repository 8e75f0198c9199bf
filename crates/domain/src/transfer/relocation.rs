//! Driven port: what a store offers so that it can be moved to another one while it is in use
//! (`docs/MOVING.md`).

use async_trait::async_trait;

use crate::{
    access::key::ApiKey,
    catalogue::{
        idempotency::IdempotencyRecord,
        pet::{Pet, PetId},
    },
    error::StoreError,
    timestamp::Timestamp,
    transfer::archive::RestoreError,
};

/// What a store is in a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It takes writes, and reads are answered from it.
    Deciding,
    /// Reads are answered from it. Writes wait, as the other store is about to decide.
    Draining,
    /// The other store decides, or will. Only the follower writes here.
    Standby,
    /// The move is finished, and the other store decides for good.
    Moved,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Deciding, Self::Draining, Self::Standby, Self::Moved];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deciding => "deciding",
            Self::Draining => "draining",
            Self::Standby => "standby",
            Self::Moved => "moved",
        }
    }

    /// The role that a word stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Whether `writer` may write to a store in this role.
    ///
    /// # Errors
    /// [`StoreError::Fenced`].
    pub fn permit(self, writer: Writer) -> Result<(), StoreError> {
        match (self, writer) {
            (Self::Deciding, Writer::Service) | (Self::Standby, Writer::Follower) => Ok(()),
            (Self::Deciding | Self::Draining | Self::Moved, Writer::Follower) => {
                Err(StoreError::fenced("it is not the standby of its move"))
            }
            (Self::Draining, Writer::Service) => {
                Err(StoreError::fenced("the other store of its move is about to decide"))
            }
            (Self::Standby, Writer::Service) => {
                Err(StoreError::fenced("the other store of its move decides"))
            }
            (Self::Moved, Writer::Service) => {
                Err(StoreError::fenced("it was moved to another store"))
            }
        }
    }

    /// Whether reads are answered from a store in this role.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Deciding | Self::Draining)
    }
}

/// Who writes to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A service or a command.
    Service,
    /// The follower of a move.
    Follower,
}

/// The row that a store holds while a move is on, and when it was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// What this store is in the move.
    pub role: Role,
    /// Grows with each change of role.
    pub revision: i64,
    /// The URL of the other store, with its password unless the role is [`Role::Moved`].
    pub peer: String,
    /// What shadow reads have found.
    pub differences: Differences,
}

/// Reads that the two stores of a move answered differently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// How many.
    pub count: i64,
    /// The last one, in words.
    pub last: Option<String>,
}

impl Relocation {
    /// A row of a move that begins.
    #[must_use]
    pub fn new(role: Role, revision: i64, peer: impl Into<String>) -> Self {
        Self { role, revision, peer: peer.into(), differences: Differences::default() }
    }

    /// The row with the next revision and another role.
    #[must_use]
    pub fn with_role(&self, role: Role) -> Self {
        Self { role, revision: self.revision + 1, ..self.clone() }
    }
}

/// Rows that one store takes over from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Ascending by identifier.
    pub pets: Vec<Pet>,
    /// The idempotency records of these animals.
    pub records: Vec<IdempotencyRecord>,
    /// API keys, which are merged with those that are there.
    pub keys: Vec<ApiKey>,
    /// Which older records are to be deleted, because the other store has purged them.
    pub purged: Option<Purged>,
}

/// Idempotency records that a store does not hold any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// They are older than the oldest record that is left.
    pub before: Timestamp,
    /// Their animals. Records of later animals may have come since.
    pub up_to: PetId,
}

impl Purged {
    /// How many records are deleted at once, the oldest first.
    pub const LIMIT: u32 = 10_000;

    /// What a store has purged whose oldest record is from `oldest`: everything, if it has none.
    #[must_use]
    pub fn new(oldest: Option<Timestamp>, up_to: PetId) -> Self {
        Self { before: oldest.unwrap_or(Timestamp(i64::MAX)), up_to }
    }

    /// Whether it is the store's record of `pet` from `at`.
    #[must_use]
    pub fn contains(&self, pet: PetId, at: Timestamp) -> bool {
        at < self.before && pet <= self.up_to
    }
}

/// What a store offers so that it can be moved while it is in use. Optional: a store without it is
/// copied while nothing writes.
///
/// # Contract
/// - In the role of its row, a store takes the writes that [`Role::permit`] permits, and refuses every
///   other write in its own transaction, by [`StoreError::Fenced`] and without effect. This holds for all
///   processes from the moment at which a change of the row has returned: it waits for writes under way.
/// - Without a row, the store takes every write but the follower's.
/// - With a row, whatever its role, [`Archive::restore`](crate::Archive::restore) is refused.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Relocatable: Send + Sync {
    /// The row, if there is one.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn relocation(&self) -> Result<Option<Relocation>, StoreError>;

    /// Makes the row; `false` if there is one already, which stays.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn begin(&self, row: Relocation) -> Result<bool, StoreError>;

    /// Replaces role, revision and peer if the revision that is stored is `expected`; whether it was.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError>;

    /// Removes the row, if the revision that is stored is `expected`, and whatever the move needed.
    /// Whether it was.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn end(&self, expected: i64) -> Result<bool, StoreError>;

    /// Adds to the differences of the row, if there is one.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn note_differences(&self, differences: Differences) -> Result<(), StoreError>;

    /// The highest identifier of an animal below which none can appear any more; `None` if the store
    /// holds none.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn horizon(&self) -> Result<Option<PetId>, StoreError>;

    /// The first `limit` animals above `after` and up to `up_to`, which is no higher than the
    /// [horizon](Self::horizon), and their idempotency records. Without keys, and, also where there is no
    /// such animal, with the records up to `up_to` that were purged before the call.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError>;

    /// Writes what another store held, in one transaction, by the rules of a
    /// [restore](crate::Restore), and deletes the records that the other store has purged. Only a
    /// [standby](Role::Standby) takes it.
    ///
    /// # Errors
    /// [`RestoreError`].
    async fn apply(&self, changes: Changes) -> Result<(), RestoreError>;
}

#[cfg(test)]
mod tests {
    use super::{Differences, Relocation, Role, Writer};

    #[test]
    fn a_change_of_role_is_the_next_revision_of_the_same_move() {
        let differences = Differences { count: 2, last: Some("animal 7".to_owned()) };
        let row = Relocation { differences, ..Relocation::new(Role::Deciding, 3, "the peer") };
        let expected = Relocation { role: Role::Draining, revision: 4, ..row.clone() };
        assert_eq!(row.with_role(Role::Draining), expected);
    }

    #[test]
    fn one_writer_is_permitted_in_each_role_at_most() {
        for (role, service, follower, is_read) in [
            (Role::Deciding, true, false, true),
            (Role::Draining, false, false, true),
            (Role::Standby, false, true, false),
            (Role::Moved, false, false, false),
        ] {
            assert_eq!(role.is_read(), is_read, "{role:?}");
            assert_eq!(role.permit(Writer::Service).is_ok(), service, "{role:?}");
            assert_eq!(role.permit(Writer::Follower).is_ok(), follower, "{role:?}");
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("none"), None);
    }
}
