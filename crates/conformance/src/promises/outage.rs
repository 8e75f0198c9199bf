//! A store that cannot be reached.

use std::time::{Duration, Instant};

use petstore_domain::{Added, PetPage, StoreError, StoredKeys, Versioned};
use tokio::time::{sleep, timeout};

use super::keys;
use crate::{
    calls::{Cause, add, all, find, still_works},
    failure::{Failure, PromiseResult, ensure_eq, ensure_matches, tried},
    fixture::Fixture,
    harness::Store,
    samples::{at, key, query, request, rex},
};

pub(super) async fn cut_off(fixture: &Fixture) -> PromiseResult {
    tried("the harness cannot cut off the store", fixture.scratch.cut_off().await)
}

pub(super) async fn reconnect(fixture: &Fixture) -> PromiseResult {
    tried("the harness cannot reconnect it", fixture.scratch.reconnect().await)
}

/// Ends the promise unless the call returns `StoreError::Unavailable` in time.
async fn refused<T: std::fmt::Debug, E: Into<Cause>>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> PromiseResult {
    let end = in_time(what, limit, call).await?.map_err(|error| error.into().0);
    ensure_matches!(what, end, Err(StoreError::Unavailable(_)));
    Ok(())
}

async fn in_time<T>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = T>,
) -> PromiseResult<T> {
    let end = timeout(limit, call).await;
    end.map_err(|_| Failure::new(format!("{what} has no end within {limit:?}")))
}

/// Makes every kind of write at the same time. Each write must fail as unavailable.
async fn writes_are_refused(store: &Store, known: StoredKeys, limit: Duration) -> PromiseResult {
    let Store { pets, keys, .. } = store;
    let (new, there) = (key(2, "b", 0, None).with_id(known.next_id), known.keys[0].clone());
    let ends = tokio::join!(
        refused("adding", limit, pets.add(rex(), None)),
        refused("adding once", limit, pets.add(rex(), Some(request("k", &rex(), 0)))),
        refused("purging", limit, pets.purge_expired(at(1 << 40), 1)),
        refused("adding a key", limit, keys.save(known.revision, vec![new], vec![])),
        refused("removing a key", limit, keys.save(known.revision, vec![], vec![there.id])),
        refused("noting a use", limit, keys.note_uses(vec![(there.id, at(0))])),
    );
    ends.0.and(ends.1).and(ends.2).and(ends.3).and(ends.4).and(ends.5)
}

/// Makes every kind of read. A read may still succeed, but its result must be right.
async fn reads_are_right_or_refused(
    store: &Store,
    expected: &PetPage,
    limit: Duration,
) -> PromiseResult {
    match in_time("listing", limit, store.pets.list(query(20, None, None))).await? {
        Ok(Versioned { value, .. }) => ensure_eq("a list while cut off", &value, expected)?,
        Err(StoreError::Unavailable(_)) => {}
        Err(error) => return Err(Failure::new(format!("listing while cut off: {error}"))),
    }
    match in_time("loading keys", limit, store.keys.load(None)).await? {
        Ok(loaded) => {
            let keys = loaded.map_or(0, |loaded| loaded.keys.len());
            ensure_eq("keys while cut off", &keys, &1)?;
        }
        Err(StoreError::Unavailable(_)) => {}
        Err(error) => return Err(Failure::new(format!("loading keys while cut off: {error}"))),
    }
    store.pets.version();
    Ok(())
}

/// Waits until the store accepts an animal again. The tries share `key`, so the animal is added once.
async fn recovery(store: &Store, key: &str, limit: Duration) -> PromiseResult<Added> {
    let reconnected = Instant::now();
    loop {
        match store.pets.add(rex(), Some(request(key, &rex(), 0))).await {
            Ok(added) => return Ok(added),
            Err(error) if reconnected.elapsed() > limit => {
                return Err(Failure::new(format!("{limit:?} after the outage: {error}")));
            }
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Contract: a call to an unreachable store fails as `Unavailable` within a bounded time. Calls succeed again by
/// themselves once the store is reachable.
pub(super) async fn an_unreachable_store_is_unavailable_and_comes_back(
    fixture: Fixture,
) -> PromiseResult {
    let (store, limit) = (fixture.store(), fixture.harness.outage_timeout());
    let first = add(store, rex()).await?;
    keys::add(store, key(1, "a", 0, None)).await?;
    let known = keys::loaded(store).await?;
    cut_off(&fixture).await?;
    let writes = writes_are_refused(store, known, limit).await;
    let page = PetPage { pets: vec![first.clone()], more: false };
    let reads = reads_are_right_or_refused(store, &page, limit).await;
    // Reconnects also after a broken promise: an unreachable store may be unable to clean up.
    reconnect(&fixture).await?;
    writes.and(reads)?;
    recovery(store, "once", limit).await?;
    ensure_eq("what was there before", &find(store, first.id).await?, &Some(first))?;
    still_works(store).await
}

/// Contract: an addition happens completely or not at all.
pub(super) async fn a_retry_after_an_outage_adds_one_animal(fixture: Fixture) -> PromiseResult {
    cut_off(&fixture).await?;
    let adding = fixture.store().pets.add(rex(), Some(request("once", &rex(), 0)));
    let refusal = refused("adding once", fixture.harness.outage_timeout(), adding).await;
    reconnect(&fixture).await?;
    refusal?;
    let (Added::Created(pet) | Added::Replayed(pet)) =
        recovery(fixture.store(), "once", fixture.harness.outage_timeout()).await?;
    ensure_eq("the animals", &all(fixture.store()).await?, &vec![pet])
}
