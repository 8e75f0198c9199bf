//! The calls that most promises make.

use std::{sync::Arc, time::Duration};

use petstore_domain::{
    AddError, Added, ApiKey, Archive, ArchiveError, CatalogueVersion, Handover, KeyChangeError,
    KeyId, NewApiKey, NewPet, Pet, PetId, PetStatus, Phase, Purged, Rows, SaveOutcome, StoreError,
    StoreState, StoredKeys, Timestamp, WriterRole, add_key, load_keys,
};
use tokio::{
    sync::Barrier,
    task::{JoinSet, yield_now},
    time::{Instant, sleep, timeout},
};

use crate::{
    failure::{Failure, PromiseResult, ensure, ensure_eq, tried},
    fixture::Fixture,
    harness::Store,
    samples,
};

/// The time limit for a store to learn its own version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);
/// The time after which a write that does not show counts as lost.
const NEVER: Duration = Duration::from_secs(5);
/// The largest number of calls to the store in one [`purge`].
const MAX_PURGES: u32 = 100;

/// Adds `pet`. Breaks the promise if the store answers the addition as a repeat.
pub(crate) async fn add(store: &Store, pet: NewPet) -> PromiseResult<Pet> {
    created(store.pets.add(pet, None).await?)
}

/// Adds `count` numbered animals, one after the other.
pub(crate) async fn add_many(store: &Store, count: usize) -> PromiseResult<Vec<Pet>> {
    let mut pets = Vec::with_capacity(count);
    for pet in samples::numbers(count) {
        pets.push(add(store, pet).await?);
    }
    Ok(pets)
}

/// Returns the added animal. A replay breaks the promise.
pub(crate) fn created(added: Added) -> PromiseResult<Pet> {
    match added {
        Added::Created(pet) => Ok(pet),
        Added::Replayed(pet) => Err(Failure::new(format!("the new {pet:?} counts as a repeat"))),
    }
}

/// Returns the animal of a replay. A new animal breaks the promise.
pub(crate) fn replayed(added: Added) -> PromiseResult<Pet> {
    match added {
        Added::Replayed(pet) => Ok(pet),
        Added::Created(pet) => Err(Failure::new(format!("a repeat has added {pet:?}"))),
    }
}

pub(crate) async fn find(store: &Store, id: PetId) -> PromiseResult<Option<Pet>> {
    Ok(store.pets.find(id).await?.value)
}

/// Purges `limit` records at a time until no expired record is left. Returns the number of deleted records.
pub(crate) async fn purge(store: &Store, cutoff: Timestamp, limit: u32) -> PromiseResult<u32> {
    let mut all = 0;
    for _ in 0..MAX_PURGES {
        let Purged { deleted, more } = store.pets.purge_expired(cutoff, limit).await?;
        ensure!(deleted <= limit, "{deleted} records were purged, with a limit of {limit}");
        all += deleted;
        if !more {
            return Ok(all);
        }
    }
    Err(Failure::new(format_args!("{MAX_PURGES} purges in a row said that more are left")))
}

/// Walks the animals page by page. Returns the animals with `status`, or all animals if `status` is `None`.
pub(crate) async fn walk(
    store: &Store,
    limit: u8,
    status: Option<PetStatus>,
) -> PromiseResult<Vec<Pet>> {
    let mut pets: Vec<Pet> = Vec::new();
    loop {
        let after = pets.last().map(|pet| pet.id);
        let page = store.pets.list(samples::query(limit, status, after)).await?.value;
        let ids = page.pets.iter().map(|pet| pet.id);
        ensure!(
            after.into_iter().chain(ids).is_sorted_by(|one, next| one < next),
            "the page behind {after:?} does not continue in ascending order"
        );
        ensure!(!page.more || !page.pets.is_empty(), "an empty page says that more follow");
        pets.extend(page.pets);
        if !page.more {
            return Ok(pets);
        }
    }
}

/// Returns every animal.
pub(crate) async fn all(store: &Store) -> PromiseResult<Vec<Pet>> {
    walk(store, 100, None).await
}

pub(crate) async fn new_key(store: &Store, key: NewApiKey) -> PromiseResult<ApiKey> {
    Ok(add_key(&*store.keys, key).await?)
}

pub(crate) async fn load(store: &Store) -> Result<StoredKeys, StoreError> {
    load_keys(&*store.keys).await
}

pub(crate) async fn all_keys(store: &Store) -> PromiseResult<Vec<ApiKey>> {
    Ok(load(store).await?.into_all()?)
}

/// Saves keys with the current revision as `expected`.
pub(crate) async fn save(
    store: &Store,
    changed: Vec<ApiKey>,
    removed: Vec<KeyId>,
) -> PromiseResult {
    let saved = store.keys.save(load(store).await?.revision, changed, removed).await?;
    ensure!(saved == SaveOutcome::Saved, "a save is {saved:?}, although nobody else changes keys");
    Ok(())
}

/// Returns the version, or a failure if there is none. Waits for a store that polls for its version.
pub(crate) async fn version(store: &Store) -> PromiseResult<CatalogueVersion> {
    let deadline = Instant::now() + VERSION_TIMEOUT;
    loop {
        let known = store.pets.version();
        if known.is_some() || Instant::now() >= deadline {
            return declared("version", known);
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the version of `store` is not `before` any more.
pub(crate) async fn version_after(store: &Store, before: CatalogueVersion) -> PromiseResult {
    let begun = Instant::now();
    while version(store).await? == before {
        ensure!(begun.elapsed() < NEVER, "a handle still returns the version before the write");
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Returns `found`, the part of a store that is called `name`. The harness declares the part, so `None` is a failure.
pub(crate) fn declared<T>(name: &str, found: Option<T>) -> PromiseResult<T> {
    found.ok_or_else(|| Failure::new(format!("there is no {name}, but the harness declares one")))
}

/// Returns the archive, or a failure if there is none.
pub(crate) fn archive(store: &Store) -> PromiseResult<&dyn Archive> {
    declared("archive", store.archive.as_deref())
}

/// Writes rows as a service. Returns the number of animals that the store did not hold before.
pub(crate) async fn write_rows(store: &Store, rows: Rows) -> PromiseResult<u64> {
    Ok(archive(store)?.write_rows(WriterRole::Service, rows).await?)
}

/// Returns rows with animals alone.
pub(crate) fn rows_of(pets: Vec<Pet>) -> Rows {
    Rows { pets, ..Rows::default() }
}

/// Returns the handover port, or a failure if there is none.
pub(crate) fn handover(store: &Store) -> PromiseResult<&dyn Handover> {
    declared("handover", store.handover.as_deref())
}

/// Changes the phase of the store.
pub(crate) async fn change_phase(store: &Store, phase: Phase) -> PromiseResult<StoreState> {
    let now = handover(store)?.state().await?;
    change_state(store, now.revision, now.next(phase)).await
}

/// Replaces the state with the revision `expected` by `new`. Returns the stored state.
pub(crate) async fn change_state(
    store: &Store,
    expected: i64,
    new: StoreState,
) -> PromiseResult<StoreState> {
    let handover = handover(store)?;
    ensure!(handover.change_state(expected, new.clone()).await?, "the store did not take {new:?}");
    Ok(handover.state().await?)
}

/// Starts `tasks` calls at the same moment, each on the next handle.
pub(crate) fn start<T, F>(
    fixture: &Fixture,
    tasks: usize,
    call: impl Fn(usize, Store) -> F,
) -> JoinSet<PromiseResult<T>>
where
    T: Send + 'static,
    F: Future<Output = PromiseResult<T>> + Send + 'static,
{
    let (begin, mut running) = (Arc::new(Barrier::new(tasks)), JoinSet::new());
    for number in 0..tasks {
        let (begin, call) = (Arc::clone(&begin), call(number, fixture.handle(number).clone()));
        running.spawn(async move {
            begin.wait().await;
            call.await
        });
    }
    running
}

/// Starts `tasks` callers like [`start`]. Each adds `count` animals. The first `with_requests` callers add each animal
/// with an idempotency key of its own. A task returns its animals, whose identifiers must ascend.
pub(crate) fn add_at_once(
    fixture: &Fixture,
    tasks: usize,
    count: usize,
    with_requests: usize,
) -> JoinSet<PromiseResult<Vec<Pet>>> {
    start(fixture, tasks, move |task, store| async move {
        let mut added: Vec<Pet> = Vec::with_capacity(count);
        for number in 0..count {
            let new = samples::numbered(number * tasks + task);
            let key = format!("{task}-{number}");
            let request = (task < with_requests).then(|| samples::request(&key, &new, 0));
            let pet = created(store.pets.add(new.clone(), request).await?)?;
            let before = added.last().map(|pet| pet.id);
            ensure!(Some(pet.id) > before, "one caller got {before:?}, and then {}", pet.id);
            added.push(new.with_id(pet.id));
            // The pause lets readers see many states.
            sleep(Duration::from_millis(1)).await;
        }
        Ok(added)
    })
}

/// Repeats `watch` in `watchers` tasks, each on the next handle, until every writer has ended, and then once more.
pub(crate) async fn watch<T: Send + 'static, F>(
    fixture: &Fixture,
    watchers: usize,
    writers: JoinSet<PromiseResult<T>>,
    watch: impl Fn(Store) -> F + Clone + Send + 'static,
) -> PromiseResult
where
    F: Future<Output = PromiseResult> + Send,
{
    let writing = tokio::spawn(join(writers));
    let mut watching = JoinSet::new();
    for number in 0..watchers {
        let (store, watch) = (fixture.handle(number).clone(), watch.clone());
        let writing = writing.abort_handle();
        watching.spawn(async move {
            loop {
                let is_last = writing.is_finished();
                watch(store.clone()).await?;
                if is_last {
                    return Ok(());
                }
                yield_now().await;
            }
        });
    }
    join(watching).await?;
    writing.await?.map(drop)
}

/// Waits for every task. The first task that fails breaks the promise.
pub(crate) async fn join<T: 'static>(
    mut tasks: JoinSet<PromiseResult<T>>,
) -> PromiseResult<Vec<T>> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(ended) = tasks.join_next().await {
        results.push(tried("a call panicked", ended)??);
    }
    Ok(results)
}

/// Waits for `call`, which breaks the promise if it does not end in time.
pub(crate) async fn in_time<T>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = T>,
) -> PromiseResult<T> {
    let end = timeout(limit, call).await;
    end.map_err(|_| Failure::new(format!("{what} did not end within {limit:?}")))
}

/// Breaks the promise unless the store accepts an animal and returns it again.
pub(crate) async fn still_works(store: &Store) -> PromiseResult {
    let pet = add(store, samples::rex()).await?;
    ensure_eq("finding a new animal", &find(store, pet.id).await?, &Some(pet))
}

/// The [`StoreError`] of any failed call. An error of another kind becomes a refusal.
pub(crate) struct Cause(pub(crate) StoreError);

impl From<StoreError> for Cause {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

macro_rules! cause {
    ($($error:ident),*) => {$(
        impl From<$error> for Cause {
            fn from(error: $error) -> Self {
                match error {
                    $error::Store(error) => Self(error),
                    other => Self(StoreError::refused(other)),
                }
            }
        }
    )*};
}
cause!(AddError, KeyChangeError, ArchiveError);
