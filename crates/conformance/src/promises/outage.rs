//! A store that cannot be reached.

use std::time::{Duration, Instant};

use petstore_domain::{Added, Pet, StoreError, StoredKeys};
use tokio::time::sleep;

use crate::{
    calls::{Cause, add, all, in_time, load, new_key, still_works},
    failure::{Failure, PromiseResult, ensure_eq, ensure_eq_lists, ensure_matches, tried},
    fixture::Fixture,
    harness::Store,
    samples::{at, key, numbered, query, request, rex},
};

/// Breaks the promise unless the call returns `StoreError::Unavailable` in time.
async fn refused<T: std::fmt::Debug, E: Into<Cause>>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> PromiseResult {
    let end = in_time(what, limit, call).await?.map_err(|error| error.into().0);
    ensure_matches!(what, end, Err(StoreError::Unavailable(_)));
    Ok(())
}

/// Makes every kind of write at the same time. Each write must fail as unavailable.
async fn writes_are_refused(store: &Store, known: StoredKeys, limit: Duration) -> PromiseResult {
    let Store { pets, keys, .. } = store;
    let (new, there) = (key(2, "b", 0, None).with_id(known.next_id), known.keys[0].clone());
    let ends = tokio::join!(
        refused("adding", limit, pets.add(numbered(1), None)),
        refused("adding once", limit, pets.add(rex(), Some(request("once", &rex(), 0)))),
        // Spares the record of the addition above, which may be stored.
        refused("purging", limit, pets.purge_expired(at(-1), 1)),
        refused("adding a key", limit, keys.save(known.revision, vec![new], vec![])),
        refused("removing a key", limit, keys.save(known.revision, vec![], vec![there.id])),
        refused("noting a use", limit, keys.note_uses(vec![(there.id, at(0))])),
    );
    ends.0.and(ends.1).and(ends.2).and(ends.3).and(ends.4).and(ends.5)
}

/// Makes every kind of read at the same time. A read may still succeed, but its result must be right.
async fn reads_are_right_or_refused(store: &Store, first: &Pet, limit: Duration) -> PromiseResult {
    let (listed, loaded) = tokio::join!(
        in_time("listing", limit, store.pets.list(query(20, None, None))),
        in_time("loading keys", limit, store.keys.load(None)),
    );
    let listed = listed?.map(|page| page.value.pets == [first.clone()] && !page.value.more);
    let loaded = loaded?.map(|keys| keys.is_some_and(|keys| keys.keys.len() == 1));
    for (what, is_right) in [("a list while cut off", listed), ("the keys while cut off", loaded)] {
        ensure_matches!(what, is_right, Ok(true) | Err(StoreError::Unavailable(_)));
    }
    store.pets.version();
    Ok(())
}

/// Waits until the store accepts an animal again. The tries share the idempotency key of an addition
/// during the outage.
async fn recovery(store: &Store, limit: Duration) -> PromiseResult<Added> {
    let reconnected = Instant::now();
    loop {
        match store.pets.add(rex(), Some(request("once", &rex(), 0))).await {
            Ok(added) => return Ok(added),
            Err(error) if reconnected.elapsed() > limit => {
                return Err(Failure::new(format!("{limit:?} after the outage: {error}")));
            }
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Contract: a call to an unreachable store fails as `Unavailable` within a bounded time. Calls succeed again by
/// themselves once the store is reachable. An addition happens completely or not at all, so a retry adds one animal.
pub(super) async fn an_unreachable_store_is_unavailable_and_comes_back(
    fixture: Fixture,
) -> PromiseResult {
    let (store, limit) = (fixture.store(), fixture.harness.outage_timeout());
    let first = add(store, numbered(2)).await?;
    new_key(store, key(1, "a", 0, None)).await?;
    let known = load(store).await?;
    tried("the harness cannot cut off the store", fixture.scratch.cut_off().await)?;
    let (writes, reads) = tokio::join!(
        writes_are_refused(store, known, limit),
        reads_are_right_or_refused(store, &first, limit),
    );
    // Reconnects also after a broken promise: an unreachable store may be unable to clean up.
    tried("the harness cannot reconnect the store", fixture.scratch.reconnect().await)?;
    writes.and(reads)?;
    let (Added::Created(pet) | Added::Replayed(pet)) = recovery(store, limit).await?;
    let mut pets = all(store).await?;
    ensure_eq("what was there before", &pets.first(), &Some(&first))?;
    // The addition without an idempotency key may have happened too.
    pets.retain(|pet| pet.name == rex().name);
    ensure_eq_lists("the animals of a retried addition", &pets, &[pet])?;
    still_works(store).await
}
