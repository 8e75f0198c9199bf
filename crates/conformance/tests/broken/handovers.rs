//! Flaws of a store that is handed over while it is in use.

use async_trait::async_trait;
use petstore_domain::{
    Archive as _, Batch, Changes, Handover, PetId, Phase, StoreError, StoreState, Writer,
};

use crate::{faults::Faults, faulty::Faulty, flaw::Flaw};

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

    fn read_while_sealed(&self) {
        if self.faults.moves != Some(MoveFault::NeverRead) {
            self.store.read_while_sealed();
        }
    }
}

fn moves(fault: MoveFault) -> Faults {
    Faults { moves: Some(fault), ..Faults::default() }
}

/// Batches of which `change` says, in view of the store's state, who writes them.
fn written_by(change: fn(Writer, &StoreState) -> Writer) -> Faults {
    Faults::default().write(move |store, batch| async move {
        let writer = change(batch.writer, &store.state().await?);
        store.write(Batch { writer, ..batch }).await
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
        written_by(|writer, state| match writer {
            Writer::Service => writer,
            Writer::Mover(_) => Writer::Mover(state.revision),
        })
    }),
    Flaw::new(
        "a service fills the store",
        &["a_store_that_is_not_open_refuses_everything"],
        |_| written_by(|_, state| Writer::Mover(state.revision)),
    ),
    Flaw::new(
        "a mover goes on when the store is open",
        &["a_mover_writes_to_what_it_fills_alone"],
        |_| {
            written_by(|writer, state| match state.phase {
                Phase::Open { .. } => Writer::Service,
                Phase::Filling { .. } | Phase::Sealed { .. } => writer,
            })
        },
    ),
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
    Flaw::new("every store is the same one", &["a_state_changes_by_its_revision_alone"], |_| {
        moves(MoveFault::OneIdentity)
    }),
];
