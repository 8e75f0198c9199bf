//! What goes on beside a batch, and at the limits: another animal in its place, readers, writers, the
//! highest identifier, and a version that is slow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{AddError, Batch, CategoryId, Pet, PetId, RestoreError};
use tokio::{
    task::{JoinSet, yield_now},
    time::timeout,
};

use super::{
    batches::content,
    snapshots::{Content, populate},
    writes::{Handles, nine},
};
use crate::{
    broken::{Broken, Checked, ensure},
    fresh::{Fresh, add, add_many, all, archive, join, write_batch},
    harness::Store,
    samples::{MANY, at, pet, request, rex},
};

/// Contract: `OtherPet` if another animal has the identifier, and nothing of the batch is written.
pub(super) async fn another_animal_is_never_overwritten(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let held = populate(&handles.stores[0]).await?;
    let new = nine(2_000_000);
    for taken in [&held.pets[5], &new[7]] {
        let renamed = pet("Another", taken.category_id.0, taken.status).with_id(taken.id);
        let other_category = Pet { category_id: CategoryId(-1), ..taken.clone() };
        let other_status = Pet { status: None, ..taken.clone() };
        for other in [renamed, other_category, other_status] {
            let pets = [&nine(3_000_000)[..], &new, &[other]].concat();
            let batch = Batch { pets, new_pets: vec![rex()], ..Batch::default() };
            let end = archive(&handles.stores[0])?.write(batch).await;
            let named = matches!(end, Err(RestoreError::OtherPet(id)) if id == taken.id);
            ensure!(named, "another animal {}: {end:?} instead of OtherPet", taken.id);
        }
    }
    handles.require(&held).await
}

/// Reads until a batch shows, of which nothing may show without the rest.
async fn watch(store: Store, before: Content, after: Content) -> Checked {
    loop {
        let seen = Content::read(&store).await?;
        if seen == after {
            return Ok(());
        }
        ensure!(seen == before, "a part of a batch shows: {} animals", seen.pets.len());
        yield_now().await;
    }
}

/// Contract: a batch is one transaction: nothing of it shows without all the rest.
pub(super) async fn a_batch_shows_as_a_whole_on_every_handle(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let store = &handles.stores[0];
    let held = Content { pets: add_many(store, 5).await?, ..Content::default() };
    let mut after = content(&fresh).await?;
    // As much as every store can write at once.
    after.pets.drain(..after.pets.len() - 8);
    after.keys.truncate(3);
    after.records.retain(|record| after.pets.iter().any(|pet| pet.id == record.pet));
    let Content { pets, keys, records } = after.clone();
    after.pets.splice(0..0, held.pets.clone());
    let mut watchers = JoinSet::new();
    for store in &handles.stores {
        watchers.spawn(watch(store.clone(), held.clone(), after.clone()));
    }
    yield_now().await;
    write_batch(store, Batch { pets, keys, records, ..Batch::default() }).await?;
    handles.require(&after).await?;
    join(watchers).await.map(drop)
}

/// Ends the promise unless the call is done in time.
async fn done<T, E: std::fmt::Debug>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> Checked {
    let end = timeout(limit, call).await;
    let end = end.map_err(|_| Broken::new(format!("{what} has no end within {limit:?}")))?;
    ensure!(end.is_ok(), "{what} beside batches: {:?}", end.err());
    Ok(())
}

/// Writes until `batches` are written.
async fn write_beside(
    store: Store,
    number: usize,
    batches: Arc<AtomicBool>,
    limit: Duration,
) -> Checked {
    for round in 0.. {
        let key = format!("beside-{number}-{round}");
        done("adding", limit, store.pets.add(rex(), None)).await?;
        done("adding once", limit, store.pets.add(rex(), Some(request(&key, &rex(), 0)))).await?;
        done("purging", limit, store.pets.purge_expired(at(-1), MANY)).await?;
        if batches.load(Ordering::SeqCst) {
            break;
        }
        yield_now().await;
    }
    Ok(())
}

/// Contract: writers beside a batch wait for no more than that batch.
pub(super) async fn writers_go_on_beside_batches(fresh: Fresh) -> Checked {
    const BATCHES: i64 = 30;
    let limit = fresh.harness.time_limit() / 4;
    let handles = Handles::new(&fresh).await?;
    let written = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for (number, store) in handles.stores.iter().enumerate() {
        writers.spawn(write_beside(store.clone(), number, written.clone(), limit));
    }
    let mut batches = JoinSet::new();
    let (store, is_written) = (handles.stores[0].clone(), written);
    batches.spawn(async move {
        let all = async {
            for number in 1..=BATCHES {
                let (pets, new_pets) = (nine(number * 1_000_000), vec![rex()]);
                let batch = Batch { pets, new_pets, ..Batch::default() };
                done("a batch", limit, archive(&store)?.write(batch)).await?;
            }
            Ok(())
        };
        let end = all.await;
        is_written.store(true, Ordering::SeqCst);
        end
    });
    join(batches).await?;
    join(writers).await?;
    let listed = all(&handles.stores[0]).await?;
    let mut expected = (1..=BATCHES).flat_map(|number| nine(number * 1_000_000));
    ensure!(expected.all(|pet| listed.contains(&pet)), "not all that was written is listed");
    Ok(())
}

/// Contract: behind the highest identifier possible nothing is added, and reads go on.
pub(super) async fn no_identifier_follows_the_highest(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let first = add(&handles.stores[0], rex()).await?;
    let highest = rex().with_id(PetId(i64::MAX));
    let pets = vec![highest.clone()];
    write_batch(&handles.stores[0], Batch { pets, ..Batch::default() }).await?;
    let held = Content { pets: vec![first, highest], ..Content::default() };
    for store in &handles.stores {
        for request in [None, Some(request("none-left", &rex(), 0)), None] {
            let end = store.pets.add(rex(), request).await;
            let refused = matches!(end, Err(AddError::Store(_)));
            ensure!(refused, "an addition behind the highest identifier: {end:?}");
        }
        let end = archive(store)?.write(Batch { new_pets: vec![rex()], ..Batch::default() }).await;
        ensure!(end.is_err(), "a batch assigns an identifier behind the highest");
        handles.require(&held).await?;
    }
    Ok(())
}

/// Contract: without a call to the store that takes long.
///
/// Times many calls: a single one may be slow on a busy machine, so most of them have to be.
pub(super) async fn the_version_is_answered_at_once(store: Store) -> Checked {
    const CALLS: usize = 21;
    const SLOW: Duration = Duration::from_millis(50);
    let mut slow = 0;
    for _ in 0..CALLS {
        add(&store, rex()).await?;
        let begun = Instant::now();
        store.pets.version();
        slow += usize::from(begun.elapsed() >= SLOW);
    }
    ensure!(slow <= CALLS / 2, "{slow} of {CALLS} calls took {SLOW:?} and more");
    Ok(())
}
