//! Failures at each step of a handover, and their outcome.

use std::{ops::ControlFlow, sync::atomic::Ordering, time::Duration};

use petstore_domain::{
    Handover as _, KeyId, KeySelector, PetId, PetRepository as _, Phase, mocks::new_pet,
    revoke_keys,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{MoveOutcome, StorePorts, TransferError, TransferProgress, TransferStep};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    faulty::{Fault, Faulty},
    pair::{
        Both, add, all, at_once, both, cancel, hand_over, hand_over_without_seal, mover, phase,
        service, three_stores,
    },
    stores::{self, START, held, id, key},
};

/// A number of animals above the limit of a short pass.
const MANY: usize = 1_001;

async fn is_sealed(store: &MemoryStore) -> bool {
    matches!(phase(store).await, Phase::Sealed { .. })
}

#[tokio::test(start_paused = true)]
async fn a_failure_under_the_seal_is_undone_and_retried() {
    for fault in
        [Fault::OpensWithoutAnswer, Fault::FailsToOpen, Fault::HangsAtOpening, Fault::FailsToFill]
    {
        let stores = both(1).await;
        let Both { old, new, from, to } = &stores;
        let both = service(from, to).await;
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
        hand_over(from, &stores.faulty_target(fault)).await.unwrap();
        writer.await.unwrap();
        assert_eq!(all(&*both).await.len(), 100, "{fault:?}");
        assert!(matches!(phase(new).await, Phase::Open { from: Some(_) }), "{fault:?}");
        assert!(is_sealed(old).await, "{fault:?}");
        assert_eq!(held(&**new).await.0.len(), 201, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn additions_as_fast_as_the_copy_end_the_mover_and_not_the_service() {
    let stores = both(MANY).await;
    let ended = hand_over(&stores.from, &stores.faulty_target(Fault::Grows)).await.unwrap_err();
    assert!(matches!(&ended, TransferError::Failed(why) if why.contains("faster")), "{ended}");
    add(&*stores.old).await;
}

/// A mover that paused after every batch would never copy all rows.
#[tokio::test(start_paused = true)]
async fn additions_nearly_as_fast_as_the_copy_do_not_prevent_a_handover_even_to_a_distant_store() {
    for (fault, every) in [(Fault::IsSlow, 12), (Fault::IsFar, 100)] {
        let stores = both(5 * MANY).await;
        let old = stores.old.clone();
        let adding = tokio::spawn(async move {
            while phase(&old).await == (Phase::Open { from: None }) {
                for _ in 0..10 {
                    let _ = old.add(new_pet("Rex"), None).await;
                }
                sleep(Duration::from_millis(every)).await;
            }
        });
        let paused = hand_over(&stores.from, &stores.faulty_target(fault)).await.unwrap();
        assert!(paused.is_some_and(|paused| paused < Duration::from_secs(1)), "{paused:?}");
        adding.await.unwrap();
    }
}

/// A longer pass under the seal would make writes wait. The first pass also pauses after its full batch.
#[tokio::test(start_paused = true)]
async fn each_row_is_copied_and_compared_once() {
    let stores = both(10_001).await;
    key(&stores.old, 1, "web").await;
    stores::add(&stores.old, "Rex", Some((id(1), START))).await;
    let target = Faulty::new(&stores.new, &stores.old, Fault::IsFar);
    let to = StorePorts { archive: target.clone(), ..stores.to.clone() };
    let (began, mut compared) = (Instant::now(), Vec::new());
    let mut note = |TransferProgress { step, done, .. }| {
        compared.extend((step == TransferStep::ComparePets).then_some(done));
        // The key is revoked after it was copied, so it is written again.
        if (step, done) == (TransferStep::CopyPets, 10_002) {
            at_once(revoke_keys(&*stores.old, KeySelector::Id(KeyId(1)), START)).unwrap();
        }
        ControlFlow::Continue(())
    };
    mover(&stores.from, &to).run(&mut note).await.unwrap();
    assert_eq!((target.written.load(Ordering::SeqCst), compared), (10_005, vec![10_000]));
    assert_eq!(began.elapsed().as_millis(), 4_050);
}

/// A seal by another mover is then never seen without that mover's claim.
#[tokio::test(start_paused = true)]
async fn the_state_of_the_source_is_read_before_that_of_the_target() {
    let stores = both(0).await;
    let [source, target] =
        [&stores.old, &stores.new].map(|store| Faulty::new(store, &stores.old, Fault::Freezes));
    source.is_frozen.store(true, Ordering::SeqCst);
    let from = StorePorts { handover: source, ..stores.from.clone() };
    let to = StorePorts { handover: target.clone(), ..stores.to.clone() };
    timeout(Duration::from_secs(1), hand_over(&from, &to)).await.unwrap_err();
    assert_eq!(target.reads.load(Ordering::SeqCst), 0);
    // The mover tries again sixty times, a second after each limit of 5 s.
    let began = Instant::now();
    hand_over(&from, &to).await.unwrap_err();
    assert_eq!((target.reads.load(Ordering::SeqCst), began.elapsed().as_secs()), (62, 371));
}

/// The store has answered that it refuses the rows, so another try would only delay the message.
#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_ends_the_mover_at_once() {
    for (fault, reason) in
        [(Fault::RefusesRows, "the disk is full"), (Fault::IsCorrupt, "it has a name")]
    {
        let (stores, began) = (both(1).await, Instant::now());
        let refusal = hand_over(&stores.from, &stores.faulty_target(fault)).await;
        assert!(refusal.unwrap_err().to_string().ends_with(reason));
        assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());
        add(&*stores.old).await;
    }
}

/// The mover has sent the opening, and must know whether it has arrived.
#[tokio::test(start_paused = true)]
async fn a_stop_under_the_seal_waits_for_an_answer_for_five_seconds() {
    let stores = both(1).await;
    let target = Faulty::new(&stores.new, &stores.old, Fault::Freezes);
    let to = StorePorts { handover: target.clone(), ..stores.to.clone() };
    let mut stopped = None;
    let mut stop = |_| {
        if !matches!(at_once(phase(&stores.new)), Phase::Open { from: Some(_) }) {
            return ControlFlow::Continue(());
        }
        target.is_frozen.store(true, Ordering::SeqCst);
        stopped.get_or_insert(Instant::now());
        ControlFlow::Break(())
    };
    let ended = mover(&stores.from, &to).run(&mut stop).await.unwrap_err().to_string();
    assert!(ended.contains("run the command again, or with --cancel (the target: "), "{ended}");
    assert_eq!(stopped.unwrap().elapsed().as_secs(), 5);
}

/// The longest waits of calls during a handover.
struct Waits {
    write: Duration,
    read: Duration,
    /// The wait of writes that the mover reports.
    reported: Duration,
}

/// Adds and lists animals during a handover.
async fn waits(from: &StorePorts, to: &StorePorts) -> Waits {
    let both = service(from, to).await;
    let (from, to) = (from.clone(), to.clone());
    let moving = tokio::spawn(async move { hand_over(&from, &to).await.unwrap().unwrap() });
    let (mut write, mut read) = (Duration::ZERO, Duration::ZERO);
    while !moving.is_finished() {
        let began = Instant::now();
        all(&*both).await;
        read = read.max(began.elapsed());
        let began = Instant::now();
        let id = add(&*both).await;
        write = write.max(began.elapsed());
        assert!(both.find(id).await.unwrap().value.is_some());
        sleep(Duration::from_millis(1)).await;
    }
    Waits { write, read, reported: moving.await.unwrap() }
}

#[tokio::test(start_paused = true)]
async fn writes_wait_for_less_than_a_second_and_reads_hardly_wait() {
    let Both { from, to, .. } = both(1).await;
    let Waits { write, read, reported } = waits(&from, &to).await;
    assert!(write < Duration::from_millis(400), "{write:?}");
    assert!(read < Duration::from_millis(30), "{read:?}");
    assert!(reported >= Duration::from_millis(200), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn the_reported_pause_begins_with_the_sending_of_the_seal() {
    let stores = both(1).await;
    let waits = waits(&stores.faulty_source(Fault::SealsSlowly), &stores.to).await;
    let Waits { write, reported, .. } = waits;
    // A waiting service polls every 20 ms.
    assert!(write <= reported + Duration::from_millis(50), "{write:?}, {reported:?} reported");
    assert!(reported >= Duration::from_millis(400), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_the_seal_without_an_answer_stops_writes_for_less_than_a_second() {
    for (of_source, of_target) in [
        (Fault::HangsAtSeal, Fault::Freezes),
        (Fault::SealsSlowly, Fault::HangsToFill),
        (Fault::Freezes, Fault::HangsAtOpening),
    ] {
        let stores = both(1).await;
        let waits = waits(&stores.faulty_source(of_source), &stores.faulty_target(of_target)).await;
        assert!(waits.write < Duration::from_secs(1), "{of_source:?}: {:?}", waits.write);
        let is_short = waits.reported < Duration::from_millis(400);
        assert!(is_short || of_source == Fault::SealsSlowly, "{:?}", waits.reported);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_state_under_the_seal_delays_no_write_for_long() {
    let stores = both(1).await;
    let waits_for_target = waits(&stores.from, &stores.faulty_target(Fault::HangsUnderSeal)).await;
    let stores = both(1).await;
    let waits_for_source = waits(&stores.faulty_source(Fault::HangsUnderSeal), &stores.to).await;
    for (side, waits) in [("target", waits_for_target), ("source", waits_for_source)] {
        assert!(waits.write < Duration::from_millis(1_500), "{side}: {:?}", waits.write);
    }
}

#[tokio::test(start_paused = true)]
async fn a_mover_killed_under_the_seal_stops_only_writes_until_it_is_run_again_or_canceled() {
    for gives_up in [false, true] {
        let stores = both(1).await;
        let Both { old, new, from, to } = &stores;
        let both = service(from, to).await;
        stores.seal().await;
        let [pet] = &*all(&*both).await else { panic!("the sealed store is not read") };
        assert!(both.find(pet.id).await.unwrap().value.is_some());
        assert!(both.find(PetId(77)).await.unwrap().value.is_none());
        let began = Instant::now();
        both.add(new_pet("Rex"), None).await.unwrap_err();
        assert_eq!(began.elapsed(), Duration::from_secs(30));
        if gives_up {
            cancel(from, to).await.unwrap();
            let id = old.state().await.unwrap().id;
            assert_eq!(phase(new).await, Phase::Sealed { to: id, label: "old".to_owned() });
            assert!(phase(old).await.is_open());
            add(&*both).await;
            assert_eq!(held(&**old).await.0.len(), 2);
        }
        hand_over(from, to).await.unwrap();
        add(&*both).await;
        let late = cancel(from, to).await.unwrap_err().to_string();
        assert!(late.starts_with("old was handed over, and new is open;"), "{late}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_store_without_its_rows_is_not_opened() {
    let Both { old, new, from, to } = both(5).await;
    let both = service(&from, &to).await;
    // While the old store is sealed, the new store fails over to an empty server, which is not being filled.
    let (state, other) = (old.state().await.unwrap(), new.state().await.unwrap());
    let sealed = state.next(Phase::Sealed { to: other.id, label: "new".to_owned() });
    assert!(old.change_state(state.revision, sealed).await.unwrap());
    assert!(timeout(Duration::from_secs(5), both.add(new_pet("Rex"), None)).await.is_err());
    assert_eq!(all(&*both).await.len(), 5, "the old store is read");
    // A cancel opens the old store, and does not touch the other server.
    cancel(&from, &to).await.unwrap();
    assert_eq!(new.state().await.unwrap(), other);
    let open = old.state().await.unwrap();
    let sealed = open.next(Phase::Sealed { to: other.id, label: "new".to_owned() });
    assert!(old.change_state(open.revision, sealed).await.unwrap());
    hand_over(&from, &to).await.unwrap();
    assert_eq!(all(&*both).await.len(), 5);
    assert_eq!(held(&*new).await.0.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_old_store_without_its_seal_is_not_used() {
    let Both { old, from, to, .. } = both(1).await;
    let both = service(&from, &to).await;
    hand_over_without_seal(&from, &to).await;
    sleep(Duration::from_secs(1)).await;
    add(&*both).await;
    let late = service(&from, &to).await;
    add(&*late).await;
    assert_eq!(all(&*late).await.len(), 3);
    assert_eq!(held(&*old).await.0.len(), 1);
    // Another run of the mover seals the old store.
    let again = mover(&from, &to).run(&mut |_| ControlFlow::Continue(())).await.unwrap();
    assert_eq!(again, MoveOutcome::SealedAgain);
    assert!(is_sealed(&old).await);
}

/// A preview compares both stores like the handover.
#[tokio::test]
async fn a_preview_names_a_row_that_only_an_old_store_without_its_seal_holds() {
    let Both { old, from, to, .. } = both(0).await;
    let mut on_progress = |_| ControlFlow::Continue(());
    key(&old, 1, "web").await;
    let preview = mover(&from, &to).preview(&mut on_progress).await.unwrap();
    assert_eq!((preview.source.keys, preview.target.keys), (1, 0));
    hand_over_without_seal(&from, &to).await;
    let preview = mover(&from, &to).preview(&mut on_progress).await.unwrap();
    assert!(preview.is_handed_over);
    add(&*old).await;
    let moved = hand_over(&from, &to).await.unwrap_err().to_string();
    let previewed = mover(&from, &to).preview(&mut on_progress).await.unwrap_err().to_string();
    assert_eq!(previewed, moved);
    let expected = "old is open and holds a row that new does not hold: animal 1 differs \
                    (source: \"Rex\" of category 1, without a status; target: missing)";
    assert!(previewed.contains(expected), "{previewed}");
}

#[tokio::test(start_paused = true)]
async fn the_error_after_a_deletion_or_another_claim_during_the_copy_names_it() {
    for (is_claimed, start, end) in [
        (false, "the target holds other data: animal ", "use an empty NEW"),
        (true, "another command has changed the state of new ", "of the commands again"),
    ] {
        let Both { old, new, from, to } = both(3).await;
        let mut interfere = |progress: TransferProgress| {
            if progress.step == TransferStep::CopyPets && progress.done == 3 {
                let state = at_once(new.state()).unwrap();
                let claim = state.next(state.phase.clone());
                let claimed =
                    is_claimed && at_once(new.change_state(state.revision, claim)).unwrap();
                assert!(claimed || old.delete_pet(PetId(2)));
            }
            ControlFlow::Continue(())
        };
        let done = mover(&from, &to).run(&mut interfere).await;
        let refusal = done.unwrap_err().to_string();
        assert!(refusal.starts_with(start) && refusal.ends_with(end), "{refusal}");
        add(&*old).await;
    }
}

/// The first store was handed over to the second, so a handover to the third was never begun.
#[tokio::test]
async fn a_handover_to_a_third_store_is_not_canceled_with_success() {
    let [a, b, c] = three_stores().map(|(_, ports)| ports);
    hand_over(&a, &b).await.unwrap();
    let refusal = cancel(&a, &c).await.unwrap_err().to_string();
    assert!(refusal.contains("was handed over to b"), "{refusal}");
}
