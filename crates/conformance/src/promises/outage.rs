//! A store that cannot be reached.

use std::time::{Duration, Instant};

use petstore_domain::{AddError, Added, ApiKey, PetPage, StoreError, StoredKeys, Versioned};
use tokio::time::{sleep, timeout};

use super::keys;
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, all, still_works},
    harness::Store,
    samples::{at, key, query, request, rex},
};

async fn cut_off(fresh: &Fresh) -> Checked {
    let failed = |problem| Broken::new(format!("the harness cannot cut off the store: {problem}"));
    fresh.scratch.cut_off().await.map_err(failed)
}

async fn reconnect(fresh: &Fresh) -> Checked {
    let failed = |problem| Broken::new(format!("the harness cannot reconnect it: {problem}"));
    fresh.scratch.reconnect().await.map_err(failed)
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
) -> Checked {
    let end = timeout(limit, write).await;
    let end = end.map_err(|_| Broken::new(format!("{what} has no end within {limit:?}")))?;
    let refused = end.as_ref().is_err_and(IsUnavailable::is_unavailable);
    ensure!(refused, "{what}: {end:?} instead of Unavailable");
    Ok(())
}

/// Makes every write at the same time: each must fail as unavailable.
async fn writes_are_refused(store: &Store, known: StoredKeys, limit: Duration) -> Checked {
    let Store { pets, keys, .. } = store;
    let (new, there) = (key(2, "b", 0, None).with_id(known.next_id), known.keys[0].clone());
    let used = ApiKey { last_used_at: Some(at(0)), ..there.clone() };
    let ends = tokio::join!(
        refused("adding", limit, pets.add(rex(), None)),
        refused("adding once", limit, pets.add(rex(), Some(request("k", &rex(), 0)))),
        refused("purging", limit, pets.purge_expired(at(1 << 40), 1)),
        refused("adding a key", limit, keys.save(known.revision, vec![new], vec![])),
        refused("removing a key", limit, keys.save(known.revision, vec![], vec![there.id])),
        refused("noting a use", limit, keys.save(known.revision, vec![used], vec![])),
    );
    ends.0.and(ends.1).and(ends.2).and(ends.3).and(ends.4).and(ends.5)
}

/// Reads in every way: a read may still answer, but then rightly.
async fn reads_are_right_or_refused(store: &Store, expected: &PetPage, limit: Duration) -> Checked {
    let reading = store.pets.list(query(20, None, None));
    let end = timeout(limit, reading).await;
    match end.map_err(|_| Broken::new(format!("listing has no end within {limit:?}")))? {
        Err(StoreError::Unavailable(_)) => {}
        Ok(Versioned { value, .. }) => same("a list while cut off", &value, expected)?,
        Err(error @ (StoreError::Corrupt(_) | StoreError::Sealed(_) | StoreError::Refused(_))) => {
            return Err(Broken::new(format!("listing while cut off: {error}")));
        }
    }
    let live = timeout(limit, store.keys.load(None)).await;
    let live = live.map_err(|_| Broken::new(format!("load has no end within {limit:?}")))?;
    let right = match &live {
        Ok(loaded) => loaded.as_ref().is_some_and(|loaded| loaded.keys.len() == 1),
        Err(error) => error.is_unavailable(),
    };
    ensure!(right, "the keys while cut off: {live:?}");
    store.pets.version();
    Ok(())
}

/// Contract: a store that cannot answer is `StoreError` within a bounded time.
pub(super) async fn an_unreachable_store_is_unavailable_in_time(fresh: Fresh) -> Checked {
    let pets = vec![add(&fresh.store, rex()).await?];
    keys::add(&fresh.store, key(1, "a", 0, None)).await?;
    let known = keys::loaded(&fresh.store).await?;
    cut_off(&fresh).await?;
    let (store, limit) = (&fresh.store, fresh.harness.outage_timeout());
    let writes = writes_are_refused(store, known, limit).await;
    let reads = reads_are_right_or_refused(store, &PetPage { pets, more: false }, limit).await;
    // Also when the promise is broken: a store that is cut off may not be able to clean up.
    reconnect(&fresh).await?;
    writes.and(reads)
}

/// Waits until the store takes animals again. What it takes is added under `key`, so once.
async fn recovery(store: &Store, key: &str, limit: Duration) -> Result<Added, Broken> {
    let reconnected = Instant::now();
    loop {
        match store.pets.add(rex(), Some(request(key, &rex(), 0))).await {
            Ok(added) => return Ok(added),
            Err(error) if reconnected.elapsed() > limit => {
                return Err(Broken::new(format!("{limit:?} after the outage: {error}")));
            }
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Contract: and answers again by itself once it can.
pub(super) async fn it_comes_back_by_itself_with_all_it_had(fresh: Fresh) -> Checked {
    let first = add(&fresh.store, rex()).await?;
    cut_off(&fresh).await?;
    let refusal =
        refused("adding", fresh.harness.outage_timeout(), fresh.store.pets.add(rex(), None)).await;
    reconnect(&fresh).await?;
    refusal?;
    recovery(&fresh.store, "once", fresh.harness.outage_timeout()).await?;
    let found = fresh.store.pets.find(first.id).await?.map(|found| found.value);
    same("what was there before", &found, &Some(first))?;
    still_works(&fresh.store).await
}

/// Contract: an addition happens whole or not at all.
pub(super) async fn a_retry_after_an_outage_adds_one_animal(fresh: Fresh) -> Checked {
    cut_off(&fresh).await?;
    let adding = fresh.store.pets.add(rex(), Some(request("once", &rex(), 0)));
    let refusal = refused("adding once", fresh.harness.outage_timeout(), adding).await;
    reconnect(&fresh).await?;
    refusal?;
    let (Added::Created(pet) | Added::Replayed(pet)) =
        recovery(&fresh.store, "once", fresh.harness.outage_timeout()).await?;
    same("the animals", &all(&fresh.store).await?, &vec![pet])
}
