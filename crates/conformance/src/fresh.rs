//! A fresh store, and the calls that most promises make on one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use petstore_domain::{
    Added, Archive, Batch, CatalogueVersion, NewPet, Pet, PetPage, PetQuery, PetStatus, Purged,
    Timestamp,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    broken::{Broken, Checked, ensure},
    harness::{Harness, ScratchStore, Store},
    samples,
};

/// How long a store may take to know its own version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// How many purges may say that there are more, where a handful of records expired.
const MAX_PURGES: u32 = 100;

/// What a promise is checked on: a fresh store that is open, and more of them if it asks.
pub(crate) struct Fresh {
    // In the order in which they are dropped: the scratch store may remove the data.
    pub(crate) store: Store,
    pub(crate) scratch: Arc<dyn ScratchStore>,
    pub(crate) harness: Arc<dyn Harness>,
    scratches: Scratches,
}

/// Every throw-away store of one promise, to be removed at its end.
pub(crate) type Scratches = Arc<Mutex<Vec<Arc<dyn ScratchStore>>>>;

impl Fresh {
    /// Makes a store, and notes it in `scratches`.
    pub(crate) async fn new(
        harness: Arc<dyn Harness>,
        scratches: Scratches,
    ) -> Result<Self, Broken> {
        let refused = |problem| Broken::new(format!("the harness has no fresh store: {problem}"));
        let scratch: Arc<dyn ScratchStore> = harness.fresh().await.map_err(refused)?.into();
        scratches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&scratch));
        let store = open(&*scratch).await?;
        Ok(Self { store, scratch, harness, scratches })
    }

    /// Makes another store.
    pub(crate) async fn another(&self) -> Result<Self, Broken> {
        Self::new(Arc::clone(&self.harness), Arc::clone(&self.scratches)).await
    }

    /// Returns another process's view of the same data.
    pub(crate) async fn second(&self) -> Result<Store, Broken> {
        open(&*self.scratch).await
    }

    /// Closes the store and opens it again.
    pub(crate) async fn reopened(self) -> Result<Self, Broken> {
        let Self { store, scratch, harness, scratches } = self;
        let failed = |problem| Broken::new(format!("it does not close: {problem}"));
        scratch.close(store).await.map_err(failed)?;
        let store = open(&*scratch).await?;
        Ok(Self { store, scratch, harness, scratches })
    }
}

/// For promises that need no more than the ports.
impl From<Fresh> for Store {
    fn from(fresh: Fresh) -> Self {
        fresh.store
    }
}

async fn open(scratch: &dyn ScratchStore) -> Result<Store, Broken> {
    scratch.open().await.map_err(|problem| Broken::new(format!("it does not open: {problem}")))
}

/// Adds `pet`, which must be new.
pub(crate) async fn add(store: &Store, pet: NewPet) -> Result<Pet, Broken> {
    created(store.pets.add(pet, None).await?)
}

/// Adds `count` numbered animals, one after the other.
pub(crate) async fn add_many(store: &Store, count: usize) -> Result<Vec<Pet>, Broken> {
    let mut pets = Vec::with_capacity(count);
    for pet in samples::numbers(count) {
        pets.push(add(store, pet).await?);
    }
    Ok(pets)
}

/// Returns the animal, which must be new.
pub(crate) fn created(added: Added) -> Result<Pet, Broken> {
    match added {
        Added::Created(pet) => Ok(pet),
        Added::Replayed(pet) => {
            Err(Broken::new(format!("{pet:?} is called a repeat, but it is new")))
        }
    }
}

/// Returns the animal, which must be that of an earlier request.
pub(crate) fn replayed(added: Added) -> Result<Pet, Broken> {
    match added {
        Added::Replayed(pet) => Ok(pet),
        Added::Created(pet) => Err(Broken::new(format!("a repeat has added {pet:?}"))),
    }
}

/// Purges, `limit` records at a time, until no more are left. Returns how many were deleted.
pub(crate) async fn purge(store: &Store, cutoff: Timestamp, limit: u32) -> Result<u32, Broken> {
    let mut all = 0;
    for _ in 0..MAX_PURGES {
        let Purged { deleted, more } = store.pets.purge_expired(cutoff, limit).await?;
        ensure!(deleted <= limit, "{deleted} records were purged, with a limit of {limit}");
        all += deleted;
        if !more {
            return Ok(all);
        }
    }
    Err(Broken::new(format_args!("{MAX_PURGES} purges in a row said that there are more")))
}

pub(crate) async fn page(store: &Store, query: PetQuery) -> Result<PetPage, Broken> {
    Ok(store.pets.list(query).await?.value)
}

/// Returns every animal of this status, or every one, read page by page.
pub(crate) async fn walk(
    store: &Store,
    limit: u8,
    status: Option<PetStatus>,
) -> Result<Vec<Pet>, Broken> {
    let mut pets: Vec<Pet> = Vec::new();
    loop {
        let after = pets.last().map(|pet| pet.id);
        let page = page(store, samples::query(limit, status, after)).await?;
        let ids = page.pets.iter().map(|pet| pet.id);
        ensure!(
            after.into_iter().chain(ids).is_sorted_by(|one, next| one < next),
            "the page behind {after:?} does not go on in ascending order"
        );
        ensure!(!page.more || !page.pets.is_empty(), "an empty page says that more follow");
        pets.extend(page.pets);
        if !page.more {
            return Ok(pets);
        }
    }
}

/// Returns every animal.
pub(crate) async fn all(store: &Store) -> Result<Vec<Pet>, Broken> {
    walk(store, 100, None).await
}

/// Returns the version, which the adapter has declared to have. A store that has to look for it may not know
/// it for a moment on a busy machine.
pub(crate) async fn version(store: &Store) -> Result<CatalogueVersion, Broken> {
    let deadline = Instant::now() + VERSION_TIMEOUT;
    loop {
        let known = store.pets.version();
        if known.is_some() || Instant::now() >= deadline {
            return required(known);
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the version that came with a read.
pub(crate) fn required(version: Option<CatalogueVersion>) -> Result<CatalogueVersion, Broken> {
    version.ok_or_else(|| Broken::new("the version is None, but the harness declares a version"))
}

/// Returns the archive, which the adapter has declared to have.
pub(crate) fn archive(store: &Store) -> Result<&dyn Archive, Broken> {
    store
        .archive
        .as_deref()
        .ok_or_else(|| Broken::new("there is no archive, but the harness declares one"))
}

/// Writes a batch. Returns how many animals were not there before.
pub(crate) async fn write_batch(store: &Store, batch: Batch) -> Result<u64, Broken> {
    Ok(archive(store)?.write(batch).await?.added)
}

/// Waits for every task. The first that broke the promise breaks it.
pub(crate) async fn join<T: 'static>(
    mut tasks: JoinSet<Result<T, Broken>>,
) -> Result<Vec<T>, Broken> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(ended) = tasks.join_next().await {
        let result = ended.map_err(|error| Broken::new(format!("a call panicked: {error}")))?;
        results.push(result?);
    }
    Ok(results)
}

/// Ends the promise unless the store still takes an animal and shows it.
pub(crate) async fn still_works(store: &Store) -> Checked {
    let pet = add(store, samples::rex()).await?;
    let found = store.pets.find(pet.id).await?.map(|found| found.value);
    ensure!(found.as_ref() == Some(&pet), "the store no longer finds what it takes: {found:?}");
    Ok(())
}
