//! A store that cannot be reached.

use std::time::{Duration, Instant};

use petstore_domain::{AddError, Added, PetPage, StoreError, StoredKeys, Versioned};
use tokio::time::{sleep, timeout};

use super::keys;
use crate::{
    calls::{add, all, find, still_works},
    failure::{Failure, PromiseResult, ensure, ensure_eq},
    fixture::Fixture,
    harness::Store,
    samples::{at, key, query, request, rex},
};

async fn cut_off(fixture: &Fixture) -> PromiseResult {
    let failed = |problem| Failure::new(format!("the harness cannot cut off the store: {problem}"));
    fixture.scratch.cut_off().await.map_err(failed)
}

async fn reconnect(fixture: &Fixture) -> PromiseResult {
    let failed = |problem| Failure::new(format!("the harness cannot reconnect it: {problem}"));
    fixture.scratch.reconnect().await.map_err(failed)
}

/// Whether an error is the one of a store that cannot answer.
pub(super) trait IsUnavailable {
    fn is_unavailable(&self) -> bool;
}

impl IsUnavailable for StoreError {
    fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl IsUnavailable for AddError {
    fn is_unavailable(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_unavailable())
    }
}

/// Ends the promise unless the write ends as [`StoreError`] in time.
async fn refused<T: std::fmt::Debug, E: IsUnavailable + std::fmt::Debug>(
    what: &str,
    limit: Duration,
    write: impl Future<Output = Result<T, E>>,
) -> PromiseResult {
    let end = timeout(limit, write).await;
    let end = end.map_err(|_| Failure::new(format!("{what} has no end within {limit:?}")))?;
    let refused = end.as_ref().is_err_and(IsUnavailable::is_unavailable);
    ensure!(refused, "{what}: {end:?} instead of Unavailable");
    Ok(())
}

/// Makes every write at the same time: each must fail as unavailable.
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

/// Reads in every way: a read may still answer, but then rightly.
async fn reads_are_right_or_refused(
    store: &Store,
    expected: &PetPage,
    limit: Duration,
) -> PromiseResult {
    let reading = store.pets.list(query(20, None, None));
    let end = timeout(limit, reading).await;
    match end.map_err(|_| Failure::new(format!("listing has no end within {limit:?}")))? {
        Err(StoreError::Unavailable(_)) => {}
        Ok(Versioned { value, .. }) => ensure_eq("a list while cut off", &value, expected)?,
        Err(error @ (StoreError::Corrupt(_) | StoreError::Sealed(_) | StoreError::Refused(_))) => {
            return Err(Failure::new(format!("listing while cut off: {error}")));
        }
    }
    let live = timeout(limit, store.keys.load(None)).await;
    let live = live.map_err(|_| Failure::new(format!("load has no end within {limit:?}")))?;
    let right = match &live {
        Ok(loaded) => loaded.as_ref().is_some_and(|loaded| loaded.keys.len() == 1),
        Err(error) => error.is_unavailable(),
    };
    ensure!(right, "the keys while cut off: {live:?}");
    store.pets.version();
    Ok(())
}

/// Contract: a store that cannot answer is `StoreError` within a bounded time.
pub(super) async fn an_unreachable_store_is_unavailable_in_time(fixture: Fixture) -> PromiseResult {
    let pets = vec![add(fixture.store(), rex()).await?];
    keys::add(fixture.store(), key(1, "a", 0, None)).await?;
    let known = keys::loaded(fixture.store()).await?;
    cut_off(&fixture).await?;
    let (store, limit) = (fixture.store(), fixture.harness.outage_timeout());
    let writes = writes_are_refused(store, known, limit).await;
    let reads = reads_are_right_or_refused(store, &PetPage { pets, more: false }, limit).await;
    // Also when the promise is broken: a store that is cut off may not be able to clean up.
    reconnect(&fixture).await?;
    writes.and(reads)
}

/// Waits until the store takes animals again. What it takes is added under `key`, so once.
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

/// Contract: and answers again by itself once it can.
pub(super) async fn it_comes_back_by_itself_with_all_it_had(fixture: Fixture) -> PromiseResult {
    let first = add(fixture.store(), rex()).await?;
    cut_off(&fixture).await?;
    let refusal =
        refused("adding", fixture.harness.outage_timeout(), fixture.store().pets.add(rex(), None))
            .await;
    reconnect(&fixture).await?;
    refusal?;
    recovery(fixture.store(), "once", fixture.harness.outage_timeout()).await?;
    let found = find(fixture.store(), first.id).await?;
    ensure_eq("what was there before", &found, &Some(first))?;
    still_works(fixture.store()).await
}

/// Contract: an addition happens whole or not at all.
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
