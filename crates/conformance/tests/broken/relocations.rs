//! Flaws of a store that is moved while it is in use.

use async_trait::async_trait;
use petstore_domain::{
    Changes, Differences, PetId, Relocatable, Relocation, RestoreError, StoreError,
};

use crate::{faults::Faults, faulty::Faulty, flaw::Flaw};

/// What a store does wrong in a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveFault {
    /// The role of the row keeps nobody out.
    NoFence,
    /// A change does not compare the revision.
    AnyRevision,
    /// The last animal of a batch is left out.
    LosesOne,
    /// The records of the animals are left out.
    NoRecords,
    /// What was purged is not passed on.
    NoPurge,
    /// What was purged is deleted from records of later animals too.
    PurgesLater,
    /// The end of a move leaves its row.
    Stays,
}

#[async_trait]
impl Relocatable for Faulty {
    async fn relocation(&self) -> Result<Option<Relocation>, StoreError> {
        self.reach().await?.relocation().await
    }

    async fn begin(&self, row: Relocation) -> Result<bool, StoreError> {
        self.reach().await?.begin(row).await
    }

    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError> {
        let store = self.reach().await?;
        let stored = store.relocation().await?.map(|row| row.revision);
        match (self.faults.moves, stored) {
            (Some(MoveFault::NoFence), Some(revision)) => Ok(revision <= expected),
            (Some(MoveFault::AnyRevision), Some(revision)) => store.change(revision, row).await,
            _ => store.change(expected, row).await,
        }
    }

    async fn end(&self, expected: i64) -> Result<bool, StoreError> {
        let store = self.reach().await?;
        if self.faults.moves == Some(MoveFault::Stays) {
            return Ok(store.relocation().await?.is_some_and(|row| row.revision == expected));
        }
        store.end(expected).await
    }

    async fn note_differences(&self, differences: Differences) -> Result<(), StoreError> {
        self.reach().await?.note_differences(differences).await
    }

    async fn horizon(&self) -> Result<Option<PetId>, StoreError> {
        self.reach().await?.horizon().await
    }

    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        let mut changes = self.reach().await?.changes(after, up_to, limit).await?;
        match self.faults.moves {
            Some(MoveFault::LosesOne) if changes.pets.len() > 2 => drop(changes.pets.remove(1)),
            Some(MoveFault::NoRecords) => changes.records.clear(),
            _ => {}
        }
        Ok(changes)
    }

    async fn apply(&self, mut changes: Changes) -> Result<(), RestoreError> {
        match (self.faults.moves, &mut changes.purged) {
            (Some(MoveFault::NoPurge), purged) => *purged = None,
            (Some(MoveFault::PurgesLater), Some(purged)) => purged.up_to = PetId(i64::MAX),
            _ => {}
        }
        self.reach().await?.apply(changes).await
    }
}

fn moves(fault: MoveFault) -> Faults {
    Faults { moves: Some(fault), ..Faults::default() }
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a fence keeps nobody out", &["a_fenced_store_refuses_every_write"], |_| {
        moves(MoveFault::NoFence)
    }),
    Flaw::new(
        "a row changes whatever its revision",
        &["a_row_changes_by_its_revision_alone"],
        |_| moves(MoveFault::AnyRevision),
    ),
    Flaw::new(
        "the follower misses an animal",
        &["changes_up_to_the_horizon_are_complete", "what_is_applied_is_there"],
        |_| moves(MoveFault::LosesOne),
    ),
    Flaw::new(
        "the follower misses the records",
        &["changes_up_to_the_horizon_are_complete", "what_is_applied_is_there"],
        |_| moves(MoveFault::NoRecords),
    ),
    Flaw::new(
        "what was purged stays in the standby",
        &["what_was_purged_is_purged_from_the_standby"],
        |_| moves(MoveFault::NoPurge),
    ),
    Flaw::new(
        "records of later animals are purged from the standby",
        &["what_was_purged_is_purged_from_the_standby"],
        |_| moves(MoveFault::PurgesLater),
    ),
    Flaw::new(
        "the end of a move leaves its row",
        &["a_store_whose_move_has_ended_is_an_ordinary_one"],
        |_| moves(MoveFault::Stays),
    ),
];
