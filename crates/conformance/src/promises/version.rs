//! The version of the catalogue.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, PetId, PetPage, Versioned};
use tokio::{sync::Mutex, time::sleep};

use crate::{
    calls::{add, add_at_once, add_many, declared, version, version_after, watch},
    failure::{Failure, PromiseResult, ensure, ensure_eq},
    fixture::Fixture,
    harness::Store,
    samples::{query, rex},
};

/// The number of repeated reads if the version changes during them. A store that is being moved may change its version
/// without a write.
const MAX_TRIES: u32 = 20;
/// The time within which a write by another handle must show.
const PROMISED: Duration = Duration::from_millis(100);

/// Contract: a read returns the version of the state that it saw. `version` returns without a slow call to the store.
///
/// One call may be slow on a busy machine, so the promise is broken only if most calls are slow.
pub(super) async fn the_version_is_that_of_reads_and_answered_at_once(
    store: Store,
) -> PromiseResult {
    const ROUNDS: usize = 15;
    const SLOW: Duration = Duration::from_millis(50);
    let mut slow = 0;
    for _ in 0..ROUNDS {
        let pet = add(&store, rex()).await?.id;
        let begun = Instant::now();
        store.pets.version();
        slow += usize::from(begun.elapsed() >= SLOW);
        let mut tries = 0..MAX_TRIES;
        while let Err(failure) = reads_carry_the_version(&store, pet).await {
            tries.next().ok_or(failure)?;
        }
    }
    ensure!(slow <= ROUNDS / 2, "{slow} of {ROUNDS} calls took {SLOW:?} and more");
    Ok(())
}

async fn reads_carry_the_version(store: &Store, pet: PetId) -> PromiseResult {
    let now = version(store).await?;
    for id in [pet, PetId(i64::MAX)] {
        let found = store.pets.find(id).await?;
        ensure_eq(format!("the version of finding {id}"), &found.version, &Some(now))?;
    }
    for after in [None, Some(pet), Some(PetId(i64::MAX))] {
        let listed = store.pets.list(query(1, None, after)).await?;
        let what = format!("the version of listing after {after:?}");
        ensure_eq(what, &listed.version, &Some(now))?;
    }
    Ok(())
}

/// Contract: a version never occurs again for another state, not even after a restart.
pub(super) async fn a_version_never_comes_back(mut fixture: Fixture) -> PromiseResult {
    let mut seen = HashSet::from([version(fixture.store()).await?.0]);
    for _ in 0..5 {
        for _ in 0..40 {
            add(fixture.store(), rex()).await?;
            let now = version(fixture.store()).await?;
            ensure!(seen.insert(now.0), "the version {now:?} came back for another state");
        }
        fixture = fixture.reopened_if_supported().await?;
        // Nothing was added, so the store may still have its last version.
        seen.insert(version(fixture.store()).await?.0);
    }
    // If the data does not outlive the process, a restart gives a new store.
    let other = fixture.another().await?;
    let foreign = version(other.store()).await?;
    ensure!(!seen.contains(&foreign.0), "{foreign:?} is a version of another store, too");
    Ok(())
}

/// Contract: two reads that return the same version saw the same state.
pub(super) async fn reads_under_one_version_are_equal(fixture: Fixture) -> PromiseResult {
    add_many(fixture.store(), 10).await?;
    let writers = add_at_once(&fixture, 4, 40, 0);
    let pages = Arc::new(Mutex::new(HashMap::<CatalogueVersion, PetPage>::new()));
    let is_equal = move |store: Store| {
        let pages = Arc::clone(&pages);
        async move {
            let Versioned { value, version } = store.pets.list(query(100, None, None)).await?;
            let mut pages = pages.lock().await;
            let known = pages.entry(declared("version", version)?).or_insert_with(|| value.clone());
            let (one, other) = (known.pets.len(), value.pets.len());
            let what = "under one version";
            ensure!(*known == value, "{what} one read saw {one} animals and another {other}");
            Ok(())
        }
    };
    watch(&fixture, 4, writers, is_equal).await
}

/// Contract: an addition through another handle of the same store changes the version within 100 ms.
///
/// One delay may be long on a busy machine, so the median of a series counts. A series that is too slow is repeated.
pub(super) async fn an_addition_elsewhere_changes_the_version_within_100_ms(
    fixture: Fixture,
) -> PromiseResult {
    let (reader, writer) = (fixture.handle(0), fixture.handle(1));
    let mut measured = Vec::new();
    for _ in 0..3 {
        let mut series = Vec::new();
        for _ in 0..7 {
            let before = version(reader).await?;
            add(writer, rex()).await?;
            let acknowledged = Instant::now();
            version_after(reader, before).await?;
            series.push(acknowledged.elapsed());
        }
        series.sort();
        measured.push(series[3]);
        if series[3] <= PROMISED {
            return Ok(());
        }
    }
    Err(Failure::new(format!("it shows after {PROMISED:?} or more: medians of 7 are {measured:?}")))
}

/// Contract: an addition changes the version within 100 ms, also after a time without requests.
pub(super) async fn after_a_pause_the_version_is_not_an_old_one(fixture: Fixture) -> PromiseResult {
    let (reader, writer) = (fixture.handle(0), fixture.handle(1));
    let before = version(reader).await?;
    sleep(Duration::from_millis(2500)).await;
    add(writer, rex()).await?;
    sleep(PROMISED * 3).await;
    let now = reader.pets.version();
    ensure!(now != Some(before), "after a pause of 2.5 s the version is that of an older state");
    let listed = reader.pets.list(query(9, None, None)).await?;
    ensure_eq("the number of animals after a pause", &listed.value.pets.len(), &1)?;
    ensure!(listed.version != Some(before), "a list after a pause carries an old version");
    Ok(())
}
