//! A store in memory with one fault.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, Handover, IdempotencyRequest, NewPet, PetId, Phase, Rows, Snapshot,
    StoreError, StoreState, WriterRole, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::pair::add;

/// A fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The store opens, and the response is lost.
    OpensWithoutAnswer,
    /// The store does not open, and there is no answer.
    FailsToOpen,
    /// The change that opens the store hangs.
    HangsAtOpening,
    /// Filling fails while the old store is sealed.
    FailsToFill,
    /// Filling takes an hour while the old store is sealed.
    HangsToFill,
    /// Filling fails after this number of batches.
    FailsAfter(i64),
    /// The store accepts at most six rows in one batch.
    AcceptsSix,
    /// While a batch is copied, as many animals as the batch has are added to the old store.
    Grows,
    /// Copying takes one millisecond per animal.
    IsSlow,
    /// Each batch takes 450 ms.
    IsFar,
    /// The answer to the seal takes 400 ms.
    SealsSlowly,
    /// The answer to the seal takes an hour.
    HangsAtSeal,
    /// A read of the state, while the old store is sealed, takes an hour.
    HangsUnderSeal,
    /// No read of the state returns while the store is frozen.
    Freezes,
    /// Reading the state takes 100 ms, and returns the state from before.
    AnswersLate,
    /// No rows are accepted, and another try would not help.
    RefusesRows,
    /// A row breaks a rule.
    IsCorrupt,
    /// Just before the store is claimed, another program adds an animal.
    GrowsBeforeClaim,
    /// Just before the store is claimed, another program removes animal 2.
    ShrinksBeforeClaim,
}

pub(crate) struct Faulty {
    store: Arc<MemoryStore>,
    fault: Fault,
    /// The number of faults left, for a fault that occurs once; for `FailsAfter`, the number of batches left.
    left: AtomicI64,
    /// The number of reads of the state.
    pub(crate) reads: AtomicUsize,
    /// The number of written rows.
    pub(crate) written: AtomicUsize,
    pub(crate) is_frozen: AtomicBool,
    /// The old store, whose seal triggers a fault.
    old: Arc<MemoryStore>,
}

impl Faulty {
    pub(crate) fn new(store: &Arc<MemoryStore>, old: &Arc<MemoryStore>, fault: Fault) -> Arc<Self> {
        let left = if let Fault::FailsAfter(batches) = fault { batches } else { 1 };
        let (store, old) = (store.clone(), old.clone());
        let (left, is_frozen) = (AtomicI64::new(left), AtomicBool::new(false));
        let [reads, written] = [0; 2].map(AtomicUsize::new);
        Arc::new(Self { store, fault, left, reads, written, is_frozen, old })
    }

    fn is_due(&self, fault: Fault) -> bool {
        self.fault == fault && self.left.fetch_sub(1, Ordering::SeqCst) > 0
    }

    async fn is_sealed(&self) -> Result<bool, StoreError> {
        Ok(matches!(self.old.state().await?.phase, Phase::Sealed { .. }))
    }
}

#[async_trait]
impl Handover for Faulty {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.is_frozen.load(Ordering::SeqCst) {
            future::pending::<()>().await;
        }
        if self.is_sealed().await? && self.is_due(Fault::HangsUnderSeal) {
            sleep(Duration::from_hours(1)).await;
        }
        let state = self.store.state().await;
        if self.fault == Fault::AnswersLate {
            sleep(Duration::from_millis(100)).await;
        }
        state
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let lost = || Err(StoreError::unavailable("the answer is lost"));
        if new.phase.is_open() {
            if self.is_due(Fault::OpensWithoutAnswer) {
                self.store.change_state(expected, new).await?;
                return lost();
            }
            if self.is_due(Fault::FailsToOpen) {
                return lost();
            }
            if self.is_due(Fault::HangsAtOpening) {
                sleep(Duration::from_hours(1)).await;
            }
        }
        if matches!(new.phase, Phase::Filling { .. }) {
            if self.is_due(Fault::GrowsBeforeClaim) {
                add(&*self.store).await;
            }
            if self.is_due(Fault::ShrinksBeforeClaim) {
                assert!(self.store.delete_pet(PetId(2)));
            }
        }
        let is_seal = matches!(new.phase, Phase::Sealed { .. });
        let changed = self.store.change_state(expected, new).await;
        if is_seal && self.is_due(Fault::SealsSlowly) {
            sleep(Duration::from_millis(400)).await;
        }
        if is_seal && self.is_due(Fault::HangsAtSeal) {
            sleep(Duration::from_hours(1)).await;
        }
        changed
    }
}

#[async_trait]
impl Archive for Faulty {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.store.snapshot().await
    }

    async fn write_rows(&self, writer: WriterRole, batch: Rows) -> Result<u64, ArchiveError> {
        let count = batch.pets.len() + batch.keys.len() + batch.records.len();
        assert!(count <= self.max_batch(), "{count} rows in one call");
        self.written.fetch_add(count, Ordering::SeqCst);
        if self.fault == Fault::RefusesRows {
            return Err(StoreError::refused("the disk is full").into());
        }
        if self.fault == Fault::IsCorrupt {
            return Err(StoreError::corrupt("animal 7", "it has a name").into());
        }
        if self.fault == Fault::IsSlow {
            sleep(Duration::from_millis(batch.pets.len() as u64)).await;
        }
        if self.fault == Fault::IsFar {
            sleep(Duration::from_millis(450)).await;
        }
        if self.fault == Fault::Grows {
            self.old.add_new(vec![new_pet("Rex"); batch.pets.len()], None).await?;
        }
        if self.is_sealed().await? && self.is_due(Fault::HangsToFill) {
            sleep(Duration::from_hours(1)).await;
        }
        let is_late = matches!(self.fault, Fault::FailsAfter(_)) && !self.is_due(self.fault);
        if is_late || self.is_sealed().await? && self.is_due(Fault::FailsToFill) {
            return Err(StoreError::unavailable("the disk is full").into());
        }
        self.store.write_rows(writer, batch).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        self.store.add_new(pets, request).await
    }

    fn max_batch(&self) -> usize {
        if self.fault == Fault::AcceptsSix { 6 } else { self.store.max_batch() }
    }
}
