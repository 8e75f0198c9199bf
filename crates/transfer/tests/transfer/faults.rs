//! Failures at each step of a handover, and their outcome.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, Handover, IdempotencyRequest, NewPet, PetId, PetRepository, Phase, Rows,
    Snapshot, StoreError, StoreState, WriterRole, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{StorePorts, TransferError, TransferStep};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    pair::{add, all, cancel, hand_over, mover, phase, service, side, stores},
    stores::held,
};

/// A fault of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The store opens, and the response is lost.
    OpensWithoutAnswer,
    /// The store does not open, and there is no answer.
    FailsToOpen,
    /// The change that opens the store hangs.
    HangsAtOpening,
    /// Filling fails while the old store is sealed.
    FailsToFill,
    /// While a batch is copied, as many animals as the batch has are added to the old store.
    Grows,
    /// Copying takes one millisecond per animal.
    IsSlow,
    /// Each batch takes 300 ms.
    IsFar,
    /// The answer to the seal takes 400 ms.
    SealsSlowly,
    /// The answer to the seal takes an hour.
    HangsAtSeal,
    /// A read of the state, while the old store is sealed, takes an hour.
    HangsUnderSeal,
}

/// A number of animals above the limit of a short pass.
const MANY: usize = 1_001;

struct Faulty {
    store: Arc<MemoryStore>,
    fault: Fault,
    /// The number of faults left, for a fault that occurs once.
    left: AtomicI64,
    /// The old store, whose seal triggers a fault.
    old: Arc<MemoryStore>,
}

impl Faulty {
    fn new(store: &Arc<MemoryStore>, old: &Arc<MemoryStore>, fault: Fault) -> Arc<Self> {
        let (store, old) = (store.clone(), old.clone());
        Arc::new(Self { store, fault, left: AtomicI64::new(1), old })
    }

    fn is_due(&self, fault: Fault) -> bool {
        self.fault == fault && self.left.fetch_sub(1, Ordering::SeqCst) > 0
    }
}

#[async_trait]
impl Handover for Faulty {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let is_sealed = matches!(self.old.state().await?.phase, Phase::Sealed { .. });
        if is_sealed && self.is_due(Fault::HangsUnderSeal) {
            sleep(Duration::from_hours(1)).await;
        }
        self.store.state().await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let lost = || Err(StoreError::unavailable("the answer is lost"));
        if matches!(new.phase, Phase::Open { from: Some(_) }) {
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
        if self.fault == Fault::IsSlow {
            sleep(Duration::from_millis(batch.pets.len() as u64)).await;
        }
        if self.fault == Fault::IsFar {
            sleep(Duration::from_millis(300)).await;
        }
        if self.fault == Fault::Grows {
            for _ in 0..batch.pets.len() {
                add(&*self.old).await;
            }
        }
        let is_sealed = matches!(self.old.state().await?.phase, Phase::Sealed { .. });
        if is_sealed && self.is_due(Fault::FailsToFill) {
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
}

#[tokio::test(start_paused = true)]
async fn a_failure_under_the_seal_is_undone_and_retried() {
    for fault in
        [Fault::OpensWithoutAnswer, Fault::FailsToOpen, Fault::HangsAtOpening, Fault::FailsToFill]
    {
        let (old, new) = stores();
        add(&*old).await;
        let from = side(&old, None, "old");
        let faulty = Faulty::new(&new, &old, fault);
        let to = StorePorts { archive: faulty.clone(), ..side(&new, Some(faulty), "new") };
        let both = service(&from, &side(&new, None, "new")).await;
        // Adds rows that must be copied under the seal.
        let writer = tokio::spawn({
            let both = both.clone();
            async move {
                for _ in 0..200 {
                    add(&*both).await;
                    sleep(Duration::from_millis(37)).await;
                }
            }
        });
        hand_over(&from, &to).await.unwrap();
        writer.await.unwrap();
        assert_eq!(all(&*both).await.len(), 100);
        assert!(matches!(phase(&new).await, Phase::Open { from: Some(_) }));
        assert!(matches!(phase(&old).await, Phase::Sealed { .. }));
        assert_eq!(held(&*new).await.0.len(), 201);
    }
}

#[tokio::test(start_paused = true)]
async fn additions_as_fast_as_the_copy_end_the_mover_and_not_the_service() {
    let (old, new) = stores();
    for _ in 0..MANY {
        add(&*old).await;
    }
    let from = side(&old, None, "old");
    let archive = Faulty::new(&new, &old, Fault::Grows);
    let to = StorePorts { archive, ..side(&new, None, "new") };
    let ended = hand_over(&from, &to).await;
    assert!(
        matches!(&ended, Err(TransferError::Failed(reason)) if reason.contains("faster")),
        "{ended:?}"
    );
    add(&*old).await;
}

/// A mover that paused after every batch would never copy all rows.
#[tokio::test(start_paused = true)]
async fn additions_nearly_as_fast_as_the_copy_do_not_prevent_a_handover_even_to_a_distant_store() {
    for (fault, every) in [(Fault::IsSlow, 12), (Fault::IsFar, 100)] {
        let (old, new) = stores();
        for _ in 0..5 * MANY {
            add(&*old).await;
        }
        let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
        let adding = tokio::spawn(async move {
            while phase(&old).await == (Phase::Open { from: None }) {
                for _ in 0..10 {
                    let _ = old.add(new_pet("Rex"), None).await;
                }
                sleep(Duration::from_millis(every)).await;
            }
        });
        let to = StorePorts { archive: Faulty::new(&new, &new, fault), ..to };
        let paused = hand_over(&from, &to).await.unwrap();
        assert!(paused.is_some_and(|paused| paused < Duration::from_secs(1)), "{paused:?}");
        adding.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn writes_wait_for_less_than_a_second_and_reads_hardly_wait() {
    let (old, new) = stores();
    add(&*old).await;
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let both = service(&from, &to).await;
    let moving = tokio::spawn(async move { hand_over(&from, &to).await.unwrap().unwrap() });
    let (mut longest_write, mut longest_read) = (Duration::ZERO, Duration::ZERO);
    while !moving.is_finished() {
        let began = Instant::now();
        all(&*both).await;
        longest_read = longest_read.max(began.elapsed());
        let began = Instant::now();
        let id = add(&*both).await;
        longest_write = longest_write.max(began.elapsed());
        assert!(both.find(id).await.unwrap().value.is_some());
        sleep(Duration::from_millis(1)).await;
    }
    assert!(longest_write < Duration::from_millis(400), "{longest_write:?}");
    assert!(longest_read < Duration::from_millis(30), "{longest_read:?}");
    assert!(moving.await.unwrap() >= Duration::from_millis(200));
}

/// Adds animals during a handover. Returns the longest wait of an addition, and the wait that the mover reports.
async fn longest_write(from: &StorePorts, to: &StorePorts) -> [Duration; 2] {
    let both = service(from, to).await;
    let (from, to) = (from.clone(), to.clone());
    let moving = tokio::spawn(async move { hand_over(&from, &to).await.unwrap().unwrap() });
    let mut longest = Duration::ZERO;
    while !moving.is_finished() {
        let began = Instant::now();
        add(&*both).await;
        longest = longest.max(began.elapsed());
        sleep(Duration::from_millis(1)).await;
    }
    [longest, moving.await.unwrap()]
}

#[tokio::test(start_paused = true)]
async fn the_reported_pause_begins_with_the_sending_of_the_seal() {
    let (old, new) = stores();
    add(&*old).await;
    let faulty = Faulty::new(&old, &old, Fault::SealsSlowly);
    let (from, to) = (side(&old, Some(faulty), "old"), side(&new, None, "new"));
    let [longest, reported] = longest_write(&from, &to).await;
    // A waiting service polls every 20 ms.
    assert!(longest <= reported + Duration::from_millis(50), "{longest:?}, {reported:?} reported");
    assert!(reported >= Duration::from_millis(400), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_seal_is_undone_within_a_second() {
    let (old, new) = stores();
    add(&*old).await;
    let faulty = Faulty::new(&old, &old, Fault::HangsAtSeal);
    let (from, to) = (side(&old, Some(faulty), "old"), side(&new, None, "new"));
    let [longest, reported] = longest_write(&from, &to).await;
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    assert!(reported < Duration::from_millis(400), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_state_under_the_seal_delays_no_write_for_long() {
    for of_target in [true, false] {
        let (old, new) = stores();
        add(&*old).await;
        let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
        let both = service(&from, &to).await;
        let faulty =
            |store| Faulty::new(if of_target { &new } else { &old }, store, Fault::HangsUnderSeal);
        let (from, to) = if of_target {
            (from, StorePorts { handover: faulty(&old), ..to })
        } else {
            (StorePorts { handover: faulty(&old), ..from }, to)
        };
        let moving = tokio::spawn(async move { hand_over(&from, &to).await.unwrap() });
        let mut longest = Duration::ZERO;
        while !moving.is_finished() {
            let began = Instant::now();
            add(&*both).await;
            longest = longest.max(began.elapsed());
            sleep(Duration::from_millis(1)).await;
        }
        assert!(longest < Duration::from_millis(1_500), "waited {longest:?}, target: {of_target}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_mover_killed_under_the_seal_stops_only_writes_until_it_is_run_again_or_canceled() {
    for gives_up in [false, true] {
        let (old, new) = stores();
        let id = add(&*old).await;
        let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
        let both = service(&from, &to).await;
        // Sets the states that a killed mover leaves.
        let (state, other) = (old.state().await.unwrap(), new.state().await.unwrap());
        let filling = other.next(Phase::Filling { from: state.id });
        assert!(new.change_state(other.revision, filling).await.unwrap());
        let sealed = state.next(Phase::Sealed { to: other.id, label: "new".to_owned() });
        assert!(old.change_state(state.revision, sealed).await.unwrap());
        assert_eq!(all(&*both).await.len(), 1);
        assert!(both.find(id).await.unwrap().value.is_some());
        assert!(both.find(PetId(77)).await.unwrap().value.is_none());
        assert!(
            timeout(Duration::from_secs(5), both.add(new_pet("Rex"), None)).await.is_err(),
            "the addition did not wait"
        );
        if gives_up {
            cancel(&from, &to).await.unwrap();
            assert!(matches!(phase(&new).await, Phase::Sealed { .. }));
            assert!(matches!(phase(&old).await, Phase::Open { .. }));
            add(&*both).await;
            assert_eq!(held(&*old).await.0.len(), 2);
        }
        hand_over(&from, &to).await.unwrap();
        add(&*both).await;
        cancel(&from, &to).await.unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_store_without_its_rows_is_not_opened() {
    let (old, new) = stores();
    for _ in 0..5 {
        add(&*old).await;
    }
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let both = service(&from, &to).await;
    // While the old store is sealed, the new store fails over to an empty server, which is not being filled.
    let state = old.state().await.unwrap();
    let sealed =
        state.next(Phase::Sealed { to: new.state().await.unwrap().id, label: "new".to_owned() });
    assert!(old.change_state(state.revision, sealed).await.unwrap());
    assert!(timeout(Duration::from_secs(5), both.add(new_pet("Rex"), None)).await.is_err());
    assert_eq!(all(&*both).await.len(), 5, "the old store is read");
    hand_over(&from, &to).await.unwrap();
    assert_eq!(all(&*both).await.len(), 5);
    assert_eq!(held(&*new).await.0.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_old_store_without_its_seal_is_not_used() {
    let (old, new) = stores();
    add(&*old).await;
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let both = service(&from, &to).await;
    let open = old.state().await.unwrap();
    hand_over(&from, &to).await.unwrap();
    let now = old.state().await.unwrap();
    assert!(old.change_state(now.revision, open).await.unwrap());
    sleep(Duration::from_secs(1)).await;
    add(&*both).await;
    let late = service(&from, &to).await;
    add(&*late).await;
    assert_eq!(all(&*late).await.len(), 3);
    assert_eq!(held(&*old).await.0.len(), 1);
    // Another run of the mover seals the old store.
    assert!(hand_over(&from, &to).await.unwrap().is_none());
    assert!(matches!(phase(&old).await, Phase::Sealed { .. }));
}

/// A preview compares both stores like the handover.
#[tokio::test]
async fn a_preview_names_a_row_that_only_an_old_store_without_its_seal_holds() {
    let (old, new) = stores();
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let open = old.state().await.unwrap();
    hand_over(&from, &to).await.unwrap();
    let now = old.state().await.unwrap();
    assert!(old.change_state(now.revision, open).await.unwrap());
    let mut on_progress = |_| ControlFlow::Continue(());
    let preview = mover(&from, &to).preview(&mut on_progress).await.unwrap();
    assert!(preview.is_handed_over);
    add(&*old).await;
    let moved = hand_over(&from, &to).await.unwrap_err().to_string();
    let previewed = mover(&from, &to).preview(&mut on_progress).await.unwrap_err().to_string();
    assert_eq!(previewed, moved);
    let expected = "old is open and holds a row that new does not hold: animal 1 differs (";
    assert!(previewed.contains(expected), "{previewed}");
}

#[tokio::test(start_paused = true)]
async fn rows_rewritten_during_a_handover_are_never_handed_over_with_old_values() {
    let (old, new) = stores();
    add(&*old).await;
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let moving = tokio::spawn({
        let (from, to) = (from.clone(), to.clone());
        async move { hand_over(&from, &to).await }
    });
    // Imports with identifiers, above and below the highest.
    for id in [3_000_000, 2_000_000, 1_000_000] {
        let pets = vec![new_pet("Rex").with_id(PetId(id))];
        if old.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await.is_err() {
            break;
        }
        sleep(Duration::from_millis(1)).await;
    }
    match moving.await.unwrap() {
        Ok(_) => {
            assert_eq!(held(&*new).await, held(&*old).await);
        }
        Err(error) => {
            assert!(error.to_string().contains("the target holds other data"), "{error}");
            add(&*old).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_after_a_deletion_during_the_copy_names_an_animal() {
    let (old, new) = stores();
    for _ in 0..3 {
        add(&*old).await;
    }
    let (from, to) = (side(&old, None, "old"), side(&new, None, "new"));
    let done = mover(&from, &to)
        .run(&mut |progress| {
            if progress.step == TransferStep::CopyPets && progress.done == 3 {
                assert!(old.delete_pet(PetId(2)));
            }
            ControlFlow::Continue(())
        })
        .await;
    let refusal = done.unwrap_err().to_string();
    assert!(refusal.contains("animal 3 ") || refusal.contains("animal 2 "), "{refusal}");
    assert!(refusal.contains("use an empty NEW"), "{refusal}");
    add(&*old).await;
}

/// The first store was handed over to the second, so a handover to the third was never begun.
#[tokio::test]
async fn a_handover_to_a_third_store_is_not_canceled_with_success() {
    let [a, b, c] = [(), (), ()].map(|()| Arc::new(MemoryStore::new()));
    let [a_side, b_side, c_side] =
        [(&a, "a"), (&b, "b"), (&c, "c")].map(|(store, label)| side(store, None, label));
    hand_over(&a_side, &b_side).await.unwrap();
    let refusal = cancel(&a_side, &c_side).await.unwrap_err().to_string();
    assert!(refusal.contains("was handed over to b"), "{refusal}");
}
