//! Stores that two processes open, and additions that are dropped or refused.

use std::time::Duration;

use petstore_domain::{AddError, Added, Phase, StoreError};
use tokio::time::sleep;

use crate::{
    calls::{add, all, change_phase, created, handover, join, load, start, still_works},
    failure::{Failure, PromiseResult, ensure, ensure_eq, ensure_eq_lists, ensure_matches, tried},
    fixture::{Fixture, open},
    harness::{Capability, Store},
    samples::{self, numbered, request, rex},
};

/// Contract: the first call that opens a store creates it. Two first calls at the same time open the same store.
pub(super) async fn two_that_open_a_new_store_at_once_open_the_same(
    fixture: Fixture,
) -> PromiseResult {
    for _ in 0..4 {
        let new = fixture.another_unopened().await?;
        let [one, other] = [(); 2].map(|()| {
            let scratch = new.scratch.clone();
            tokio::spawn(async move { open(&*scratch, false).await })
        });
        let (one, other) = (&one.await??, &other.await??);
        let (a, b) = (load(one).await?, load(other).await?);
        ensure_eq("the keys of both handles", &a, &b)?;
        if one.handover.is_some() {
            let (a, b) = (handover(one)?.state().await?, handover(other)?.state().await?);
            ensure_eq("the states of both handles", &a, &b)?;
        }
        let added = [add(one, rex()).await?, add(other, numbered(1)).await?];
        ensure_eq_lists("the animals of both handles", &all(one).await?, &added)?;
    }
    Ok(())
}

/// Contract: two handles behave like two processes. This promise uses a real second process.
pub(super) async fn what_another_process_does_shows_here(fixture: Fixture) -> PromiseResult {
    let act = async |action: &str| {
        let what = format!("'{action}' by another process");
        tried(&what, fixture.scratch.act_elsewhere(action).await)
    };
    let store = fixture.store();
    let mine = add(store, rex()).await?;
    let known = load(store).await?.revision;
    let before = store.pets.version();
    act("add").await?;
    let listed = all(store).await?;
    let seen = (listed.len(), listed.first());
    ensure_eq("the animals after another process added one", &seen, &(2, Some(&mine)))?;
    let keys = store.keys.load(Some(known)).await?.map_or(0, |loaded| loaded.keys.len());
    ensure_eq("the keys after another process added one", &keys, &1)?;
    sleep(Duration::from_millis(150)).await;
    let is_old = before.is_some() && store.pets.version() == before;
    ensure!(!is_old, "the version stays after another process added an animal");
    add(store, numbered(3)).await?;
    act("find-three").await?;
    if fixture.supports(Capability::Handover) {
        act("seal").await?;
        let read = store.pets.list(samples::query(9, None, None)).await;
        ensure_matches!("a read after another's seal", read, Err(StoreError::Sealed(_)));
        change_phase(store, Phase::Open { from: None }).await?;
    }
    still_works(store).await
}

/// The number of additions whose future is dropped.
const ROUNDS: usize = 60;

/// Contract: an addition happens completely or not at all, also when the future is dropped half way.
pub(super) async fn a_dropped_addition_happens_whole_or_not_at_all(store: Store) -> PromiseResult {
    for round in 0..ROUNDS {
        let (pet, key) = (numbered(round), format!("key-{round}"));
        let adding = store.pets.add(pet.clone(), Some(request(&key, &pet, 0)));
        // Polls the future once, or for a time that grows with the round, and then drops it.
        let pause = async {
            if !round.is_multiple_of(3) {
                sleep(Duration::from_micros(round as u64 * 40)).await;
            }
        };
        tokio::select! { biased; _ = adding => {} () = pause => {} }
    }
    // A repeat waits for a dropped write that is still in flight. Each request must then have one animal.
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let pet = numbered(round);
        let again = request(&format!("key-{round}"), &pet, 1);
        let (Added::Created(added) | Added::Replayed(added)) =
            store.pets.add(pet.clone(), Some(again)).await?;
        expected.push(pet.with_id(added.id));
    }
    expected.sort_by_key(|pet| pet.id);
    let what = "the animals, one of each dropped addition";
    ensure_eq_lists(what, &all(&store).await?, &expected)?;
    still_works(&store).await
}

/// Contract: a row that the store's own rules refuse fails as `Refused`. Only the request of this row fails.
pub(super) async fn a_refused_row_fails_its_own_request_only(fixture: Fixture) -> PromiseResult {
    let first = add(fixture.store(), rex()).await?;
    tried("the harness cannot make a rule", fixture.scratch.forbid_equal_names().await)?;
    let tasks = start(&fixture, 8, |task, store| async move {
        let mut added = Vec::new();
        for number in 0..15 {
            let offends = task == 0 || number == 7;
            let pet = if offends { rex() } else { numbered(task * 100 + number) };
            let key = format!("{task}-{number}");
            let request = (number % 2 == 0).then(|| request(&key, &pet, 0));
            match store.pets.add(pet, request).await {
                Ok(pet) if !offends => added.push(created(pet)?),
                Err(AddError::Store(StoreError::Refused(reason))) if offends => {
                    ensure!(!reason.is_empty(), "a refusal gives no reason");
                }
                end => return Err(Failure::new(format!("rule broken: {offends}; end: {end:?}"))),
            }
        }
        Ok(added)
    });
    let mut expected = join(tasks).await?.concat();
    expected.push(first);
    expected.sort_by_key(|pet| pet.id);
    ensure_eq_lists("the animals", &all(fixture.store()).await?, &expected)?;
    // A refused addition leaves no record.
    let again = fixture.store().pets.add(rex(), Some(request("0-0", &rex(), 1))).await;
    let what = "the repeat of a refused addition";
    ensure_matches!(what, again, Err(AddError::Store(StoreError::Refused(_))));
    Ok(())
}
