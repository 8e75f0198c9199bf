//! What goes on beside a restore, and at the limits: another animal in its place, readers, writers, the
//! highest identifier, and a version that is slow.

use std::time::{Duration, Instant};

use petstore_domain::{AddError, CategoryId, Pet, PetId, Restore, RestoreError};
use tokio::{
    task::{JoinSet, yield_now},
    time::timeout,
};

use super::{
    outage::IsUnavailable,
    restores::content,
    snapshots::{Content, populate},
    writes::{Handles, nine},
};
use crate::{
    broken::{Broken, Checked, ensure},
    fresh::{Fresh, add, add_many, all, archive, join},
    harness::Store,
    samples::{MANY, at, pet, request, rex},
};

async fn begin(store: &Store) -> Result<Box<dyn Restore>, Broken> {
    Ok(archive(store)?.restore().await?)
}

pub(super) async fn another_animal_is_never_overwritten(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let held = populate(&handles.stores[0]).await?;
    let new = nine(2_000_000);
    for taken in [&held.pets[5], &new[7]] {
        let renamed = pet("Another", taken.category_id.0, taken.status).with_id(taken.id);
        let other_category = Pet { category_id: CategoryId(-1), ..taken.clone() };
        let other_status = Pet { status: None, ..taken.clone() };
        for other in [renamed, other_category, other_status] {
            let mut begun = begin(&handles.stores[0]).await?;
            begun.new_pets(vec![rex()]).await?;
            begun.pets(nine(3_000_000)).await?;
            let end = begun.pets([&new[..], &[other]].concat()).await;
            let named = matches!(end, Err(RestoreError::OtherPet(id)) if id == taken.id);
            ensure!(named, "another animal {}: {end:?} instead of OtherPet", taken.id);
        }
    }
    handles.require(&held).await
}

/// Reads until a restore shows, of which nothing may show without the rest.
async fn watch(store: Store, before: Content, after: Content) -> Checked {
    loop {
        let seen = Content::read(&store).await?;
        if seen == after {
            return Ok(());
        }
        ensure!(seen == before, "a part of a restore shows: {} animals", seen.pets.len());
        yield_now().await;
    }
}

pub(super) async fn a_restore_shows_as_a_whole_on_every_handle(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let store = &handles.stores[0];
    let held = Content { pets: add_many(store, 5).await?, ..Content::default() };
    let mut after = content(&fresh).await?;
    let mut begun = begin(store).await?;
    begun.pets(after.pets.clone()).await?;
    begun.keys(after.keys.clone()).await?;
    begun.idempotency_records(after.records.clone()).await?;
    handles.require(&held).await?;
    after.pets.splice(0..0, held.pets.clone());
    let mut watchers = JoinSet::new();
    for store in &handles.stores {
        watchers.spawn(watch(store.clone(), held.clone(), after.clone()));
    }
    yield_now().await;
    begun.commit().await?;
    handles.require(&after).await?;
    join(watchers).await.map(drop)
}

/// Whether the call was done in time; it may be refused as unavailable.
async fn answered<T, E: IsUnavailable + std::fmt::Debug>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> Result<bool, Broken> {
    let end = timeout(limit, call).await;
    let end = end.map_err(|_| Broken::new(format!("{what} has no end within {limit:?}")))?;
    let refused = end.as_ref().err().is_none_or(IsUnavailable::is_unavailable);
    ensure!(refused, "{what} beside a restore: {:?}", end.err());
    Ok(end.is_ok())
}

/// Whether an animal was added.
async fn write_beside(store: Store, key: String, limit: Duration) -> Result<bool, Broken> {
    let (added, once, purged) = tokio::join!(
        answered("adding", limit, store.pets.add(rex(), None)),
        answered("adding once", limit, store.pets.add(rex(), Some(request(&key, &rex(), 0)))),
        answered("purging", limit, store.pets.purge_expired(at(-1), MANY)),
    );
    purged?;
    Ok(added? | once?)
}

pub(super) async fn a_writer_beside_a_restore_is_answered(fresh: Fresh) -> Checked {
    let limit = fresh.harness.time_limit() / 4;
    let handles = Handles::new(&fresh).await?;
    let store = &handles.stores[0];
    let mut begun = begin(store).await?;
    begun.pets(nine(1_000_000)).await?;
    let mut writers = JoinSet::new();
    for (number, store) in handles.stores.iter().enumerate() {
        writers.spawn(write_beside(store.clone(), format!("beside-{number}"), limit));
    }
    let written = join(writers).await?.contains(&true);
    if !answered("the commit", limit, begun.commit()).await? {
        ensure!(written, "the restore cannot commit, although no other write was made");
        let mut again = begin(store).await?;
        again.pets(nine(1_000_000)).await?;
        again.commit().await?;
    }
    let listed = all(store).await?;
    let restored = nine(1_000_000).iter().all(|pet| listed.contains(pet));
    ensure!(restored, "not all that was restored is listed");
    Ok(())
}

pub(super) async fn no_identifier_follows_the_highest(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let first = add(&handles.stores[0], rex()).await?;
    let highest = rex().with_id(PetId(i64::MAX));
    let mut begun = begin(&handles.stores[0]).await?;
    begun.pets(vec![highest.clone()]).await?;
    begun.commit().await?;
    let held = Content { pets: vec![first, highest], ..Content::default() };
    for store in &handles.stores {
        for request in [None, Some(request("none-left", &rex(), 0)), None] {
            let end = store.pets.add(rex(), request).await;
            let refused = matches!(end, Err(AddError::Store(_)));
            ensure!(refused, "an addition behind the highest identifier: {end:?}");
        }
        let mut begun = begin(store).await?;
        let assigned = begun.new_pets(vec![rex()]).await.is_ok() && begun.commit().await.is_ok();
        ensure!(!assigned, "a restore assigns an identifier behind the highest");
        handles.require(&held).await?;
    }
    Ok(())
}

/// A single call may be slow on a busy machine, so most of them have to be.
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
