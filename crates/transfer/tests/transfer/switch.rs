//! Services over two stores: their polls, and the store that they use.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use petstore_domain::{
    AddError, Handover, KeyId, KeyRevision, KeyStore as _, PetId, PetQuery, PetRepository, Phase,
    StoreError, StoreId, StoreState, Timestamp, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{CurrentStore, StorePorts, release};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    faulty::{Fault, Faulty},
    pair::{
        Both, add, all, both, hand_over, hand_over_without_seal, phase, service, service_before,
        three_stores,
    },
    stores::{held, key},
};

#[tokio::test]
async fn calls_fail_until_a_store_is_set_and_after_it_was_cleared() {
    let (current, store) = (CurrentStore::default(), Arc::<MemoryStore>::default());
    let fails =
        async || matches!(current.list(PetQuery::default()).await, Err(StoreError::Unavailable(_)));
    assert!(fails().await);
    current.set(store.clone(), store);
    assert!(!fails().await && current.load(None).await.is_ok());
    current.clear();
    assert!(fails().await && current.load(None).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn many_waiting_requests_do_not_multiply_the_polls_of_a_stuck_seal() {
    const STUCK: Duration = Duration::from_secs(5);
    let stores = both(0).await;
    let states =
        [&stores.old, &stores.new].map(|store| Faulty::new(store, &stores.old, Fault::Freezes));
    let from = StorePorts { handover: states[0].clone(), ..stores.from.clone() };
    let to = StorePorts { handover: states[1].clone(), ..stores.to.clone() };
    let both = service(&from, &to).await;
    stores.seal().await;
    let mut waiting = JoinSet::new();
    for _ in 0..300 {
        let both = both.clone();
        waiting.spawn(async move { timeout(STUCK, both.add(new_pet("Rex"), None)).await.is_err() });
    }
    let began = Instant::now();
    assert!(waiting.join_all().await.into_iter().all(|waits| waits), "an addition was answered");
    // One poll every 20 ms, and the first polls.
    let most = usize::try_from(began.elapsed().as_millis()).unwrap() / 20 + 5;
    for state in states {
        let calls = state.reads.load(Ordering::SeqCst);
        assert!((most / 2..=most).contains(&calls), "{calls} calls in {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_next_store_does_not_delay_the_return_to_the_first_one() {
    let stores = both(0).await;
    let state = Faulty::new(&stores.new, &stores.old, Fault::Freezes);
    let to = StorePorts { handover: state.clone(), ..stores.to.clone() };
    state.is_frozen.store(true, Ordering::SeqCst);
    let both = timeout(Duration::from_secs(2), service(&stores.from, &to)).await.unwrap();
    // The metric shows a store that does not answer, also while it is not needed.
    for (is_frozen, millis) in [(true, 1_600), (false, 2_100)] {
        state.is_frozen.store(is_frozen, Ordering::SeqCst);
        sleep(Duration::from_millis(millis)).await;
        assert_eq!(both.next_is_reachable(), !is_frozen);
    }
    let sealed = stores.seal().await;
    sleep(Duration::from_millis(700)).await;
    assert!(both.next_is_reachable());
    state.is_frozen.store(true, Ordering::SeqCst);
    let began = Instant::now();
    both.list(PetQuery::default()).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    sleep(Duration::from_millis(50)).await;
    assert!(!both.next_is_reachable());
    let adding = tokio::spawn({
        let both = both.clone();
        async move { both.add(new_pet("Rex"), None).await.map(|_| Instant::now()) }
    });
    sleep(Duration::from_millis(700)).await;
    let reading = tokio::spawn(async move { both.list(PetQuery::default()).await.map(drop) });
    sleep(Duration::from_millis(300)).await;
    let opened = sealed.next(Phase::Open { from: None });
    assert!(stores.old.change_state(sealed.revision, opened).await.unwrap());
    let opened_at = Instant::now();
    let delay = adding.await.unwrap().unwrap() - opened_at;
    assert!(delay < Duration::from_millis(50), "{delay:?}");
    reading.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_service_waits_two_seconds_for_a_next_store_that_is_missing_after_the_seal() {
    for appears in [1_700, 60_000].map(Duration::from_millis) {
        let Both { old, from, to, .. } = both(0).await;
        hand_over(&from, &to).await.unwrap();
        let service = service_before(&from, &to, appears).await;
        let sealed = old.state().await.unwrap();
        // The second time, the store was open and is sealed again.
        for revision in [0, 2].map(|more| sealed.revision + more) {
            let began = Instant::now();
            let added = service.add(new_pet("Rex"), None).await;
            assert_eq!(added.is_ok(), appears < Duration::from_secs(2), "{added:?}");
            if added.is_ok() {
                break;
            }
            let waited = began.elapsed().as_millis();
            assert!((1_900..2_100).contains(&waited), "{waited} ms");
            let open = StoreState {
                revision: revision + 1,
                phase: Phase::Open { from: None },
                ..sealed.clone()
            };
            assert!(old.change_state(revision, open).await.unwrap());
            sleep(Duration::from_secs(1)).await;
            let again = StoreState { revision: revision + 2, ..sealed.clone() };
            assert!(old.change_state(revision + 1, again).await.unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_finds_at_once_what_was_added_after_the_handover() {
    // The service has polled both stores a moment ago, or a poll has begun and not ended.
    for (fault, waits) in
        [(Fault::Freezes, 700), (Fault::AnswersLate, 700), (Fault::AnswersLate, 760)]
    {
        let stores = both(0).await;
        let new = &stores.new;
        let both = service(&stores.from, &stores.faulty_target(fault)).await;
        let sealed = stores.seal().await;
        sleep(Duration::from_millis(waits)).await;
        let filling = new.state().await.unwrap();
        let opened = filling.next(Phase::Open { from: Some(sealed.id) });
        assert!(new.change_state(filling.revision, opened).await.unwrap());
        let id = add(&**new).await;
        assert!(both.find(id).await.unwrap().value.is_some(), "{fault:?}, {waits}");
        assert_eq!(all(&*both).await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_waits_for_the_end_of_a_handover() {
    let stores = both(0).await;
    let both = service(&stores.from, &stores.to).await;
    let sealed = stores.seal().await;
    let uses = vec![(KeyId(1), Timestamp(1))];
    let opening = async {
        sleep(Duration::from_millis(700)).await;
        let filling = stores.new.state().await.unwrap();
        let opened = filling.next(Phase::Open { from: Some(sealed.id) });
        stores.new.change_state(filling.revision, opened).await.unwrap()
    };
    let (opened, added, found, listed, purged, loaded, changes, saved, noted) = tokio::join!(
        opening,
        both.add(new_pet("Rex"), None),
        both.find(PetId(1)),
        both.list(PetQuery::default()),
        both.purge_expired(Timestamp(1), 1),
        both.load(None),
        both.load_changes(None),
        both.save(KeyRevision(0), vec![], vec![KeyId(1)]),
        both.note_uses(uses)
    );
    assert!(opened && added.is_ok() && found.is_ok() && listed.is_ok() && purged.is_ok());
    assert!(loaded.is_ok() && changes.is_ok() && saved.is_ok() && noted.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_key_created_after_the_handover_is_loaded_at_once() {
    let Both { new, from, to, .. } = both(0).await;
    let [whole, partial] = [service(&from, &to).await, service(&from, &to).await];
    let before = whole.load(None).await.unwrap().unwrap();
    let mark = partial.load_changes(None).await.unwrap().mark;
    // The services poll an open store only twice a second, so they may not have seen the handover yet.
    hand_over(&from, &to).await.unwrap();
    key(&new, 1, "late").await;
    let both = (whole.load(Some(before.revision)), partial.load_changes(Some(mark)));
    let (loaded, late) = tokio::join!(both.0, both.1);
    assert_eq!(loaded.unwrap().map(|stored| stored.keys.len()), Some(1));
    assert_eq!(late.unwrap().rows.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_way_back_the_store_opened_last_is_used() {
    let Both { old, new, from, to } = both(1).await;
    let running = service(&from, &to).await;
    hand_over(&from, &to).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    hand_over_without_seal(&to, &from).await;
    sleep(Duration::from_secs(1)).await;
    assert!(!running.is_next());
    for (first, next, is_next) in [(&from, &to, false), (&to, &from, true)] {
        let both = service(first, next).await;
        assert_eq!(both.is_next(), is_next);
        sleep(Duration::from_secs(1)).await;
        add(&*both).await;
    }
    assert_eq!(held(&*old).await.0.len(), 3);
    assert_eq!(held(&*new).await.0.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_released_store_is_not_replaced_by_its_former_target() {
    let Both { old, new, from, to } = both(0).await;
    hand_over(&from, &to).await.unwrap();
    let refused = PetRepository::add(&*old, new_pet("Rex"), None).await.unwrap_err();
    assert!(matches!(refused, AddError::Store(StoreError::Sealed(_))), "{refused}");
    assert!(release(&*old, StoreId([9; 16])).await.unwrap());
    let released = old.state().await.unwrap();
    assert_eq!((released.id, released.phase), (StoreId([9; 16]), Phase::Open { from: None }));
    add(&*old).await;
    let both = service(&from, &to).await;
    sleep(Duration::from_secs(1)).await;
    add(&*both).await;
    assert_eq!(held(&*new).await.0, vec![], "the old store is a store of its own");
}

#[tokio::test(start_paused = true)]
async fn a_release_waits_for_the_end_of_a_running_handover() {
    let Both { old, new, from, to } = both(1).await;
    let moving = tokio::spawn(async move { hand_over(&from, &to).await });
    while phase(&old).await.is_open() {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(release(&*old, StoreId([9; 16])).await.unwrap());
    assert!(phase(&new).await.is_open(), "the release did not wait for the handover");
    moving.await.unwrap().unwrap();
}

/// The service never saw the second store open, because that store had been handed over to a third store.
#[tokio::test(start_paused = true)]
async fn a_service_with_two_handed_over_stores_serves_neither() {
    let [(first, a), (_, b), (third, c)] = three_stores();
    add(&*first).await;
    hand_over(&a, &b).await.unwrap();
    hand_over(&b, &c).await.unwrap();
    let late = add(&*third).await;
    let service = service(&a, &b).await;
    let began = Instant::now();
    let AddError::Store(of_add) = service.add(new_pet("Rex"), None).await.unwrap_err() else {
        panic!("no key was sent")
    };
    let of_list = service.list(PetQuery::default()).await.unwrap_err();
    for error in [service.find(late).await.unwrap_err(), of_list, of_add] {
        let names_third = |reason: &str| reason.contains("handed over to c");
        assert!(matches!(&error, StoreError::Sealed(reason) if names_third(reason)), "{error}");
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// Each store is sealed to the other, as after a handover back to an earlier copy of the first store.
#[tokio::test(start_paused = true)]
async fn a_service_with_two_stores_sealed_to_each_other_serves_neither() {
    let Both { old, new, from, to } = both(1).await;
    hand_over(&from, &to).await.unwrap();
    let (first, now) = (old.state().await.unwrap(), new.state().await.unwrap());
    let sealed = now.next(Phase::Sealed { to: first.id, label: "a copy of old".to_owned() });
    assert!(new.change_state(now.revision, sealed).await.unwrap());
    let service = service(&from, &to).await;
    assert!(service.find(PetId(1)).await.is_err());
}
