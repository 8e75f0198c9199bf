//! Flaws of a store that is handed over while it is in use.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive as _, Changes, Handover, IdempotencyRecord, NewPet, Pet, PetId, Phase, Restore,
    RestoreError, StoreError, StoreState,
};

use petstore_memory::MemoryStore;

use crate::{
    faults::Faults,
    faulty::Faulty,
    flaw::{Flaw, Notes},
};

/// What a store does wrong when it is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveFault {
    /// A seal keeps nobody out.
    NoFence,
    /// A change does not compare the revision.
    AnyRevision,
    /// The second animal of a batch is left out.
    LosesOne,
    /// The records of the animals are left out.
    NoRecords,
    /// Who fills the store is not compared.
    AnyMover,
    /// Nobody reads a sealed store.
    NeverRead,
    /// The rewrites are forgotten by a change of the state.
    Forgets,
    /// Every store has one identity.
    OneIdentity,
}

#[async_trait]
impl Handover for Faulty {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let mut state = self.reach().await?.state().await?;
        match self.faults.moves {
            Some(MoveFault::OneIdentity) if state.revision == 0 => state.id.0 = [1; 16],
            Some(MoveFault::Forgets) if state.revision > 0 => state.rewrites = 0,
            _ => {}
        }
        Ok(state)
    }

    async fn change_state(&self, expected: i64, mut new: StoreState) -> Result<bool, StoreError> {
        let store = self.reach().await?;
        let stored = store.state().await?.revision;
        match self.faults.moves {
            Some(MoveFault::NoFence) => new.phase = Phase::Open { from: None },
            Some(MoveFault::AnyRevision) => return store.change_state(stored, new).await,
            _ => {}
        }
        store.change_state(expected, new).await
    }

    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        let mut changes = self.reach().await?.changes(after, limit).await?;
        match self.faults.moves {
            Some(MoveFault::LosesOne) if changes.pets.len() > 2 => drop(changes.pets.remove(1)),
            Some(MoveFault::NoRecords) => changes.records.clear(),
            _ => {}
        }
        Ok(changes)
    }

    async fn fill(&self, revision: i64) -> Result<Box<dyn Restore>, StoreError> {
        let store = self.reach().await?;
        let stored = store.state().await?.revision;
        let any = self.faults.moves == Some(MoveFault::AnyMover);
        store.fill(if any { stored } else { revision }).await
    }

    fn read_while_sealed(&self) {
        if self.faults.moves != Some(MoveFault::NeverRead) {
            self.store.read_while_sealed();
        }
    }
}

fn moves(fault: MoveFault) -> Faults {
    Faults { moves: Some(fault), ..Faults::default() }
}

/// A restore that is committed whatever the store is then.
struct Spanning {
    store: Arc<MemoryStore>,
    begun: Box<dyn Restore>,
}

#[async_trait]
impl Restore for Spanning {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.begun.pets(pets).await
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.begun.new_pets(pets).await
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.begun.keys(keys).await
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.begun.idempotency_records(records).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let state = self.store.state().await?;
        let open = StoreState { phase: Phase::Open { from: None }, ..state.clone() };
        self.store.change_state(state.revision, open).await?;
        let done = self.begun.commit().await;
        self.store.change_state(state.revision, state).await?;
        done
    }
}

fn spanning(_: &Arc<Notes>) -> Faults {
    Faults::default().restore(|store, ()| async move {
        let begun = store.restore().await?;
        Ok(Box::new(Spanning { store, begun }) as Box<dyn Restore>)
    })
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "a seal keeps nobody out",
        &["a_store_that_is_not_open_refuses_everything", "nothing_is_added_after_a_seal"],
        |_| moves(MoveFault::NoFence),
    ),
    Flaw::new(
        "a state changes whatever its revision",
        &["a_state_changes_by_its_revision_alone"],
        |_| moves(MoveFault::AnyRevision),
    ),
    Flaw::new(
        "the mover misses an animal",
        &["changes_are_complete", "a_mover_writes_to_what_it_fills_alone"],
        |_| moves(MoveFault::LosesOne),
    ),
    Flaw::new(
        "the mover misses the records",
        &["changes_are_complete", "a_mover_writes_to_what_it_fills_alone"],
        |_| moves(MoveFault::NoRecords),
    ),
    Flaw::new("any mover fills the store", &["a_mover_writes_to_what_it_fills_alone"], |_| {
        moves(MoveFault::AnyMover)
    }),
    Flaw::new(
        "nobody reads a sealed store",
        &["a_sealed_store_is_read_by_who_asks_for_it"],
        |_| moves(MoveFault::NeverRead),
    ),
    Flaw::new(
        "a change of the state forgets the rewrites",
        &["every_change_but_an_addition_is_a_rewrite"],
        |_| moves(MoveFault::Forgets),
    ),
    Flaw::new(
        "a restore goes on after a seal",
        &["a_restore_that_spans_a_seal_has_no_effect"],
        spanning,
    ),
    Flaw::new("every store is the same one", &["a_state_changes_by_its_revision_alone"], |_| {
        moves(MoveFault::OneIdentity)
    }),
];
