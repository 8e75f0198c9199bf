//! The storage ports of a service, over its current store. A call that the current store refuses as *sealed* had no
//! effect. The call waits for the [`Poller`], and is repeated on the open store.
//!
//! Reads continue while neither store is open. Rows of a sealed store, and API keys, are returned once a poll that
//! began after the read finds that no other store has taken over. So no other service had written to the next store
//! before the read. A service answers from its cache for at most 100 ms after the seal, and a mover opens the next
//! store at least 200 ms after the seal. So no answer comes from the cache of a replaced store.

mod poller;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, CatalogueVersion, IdempotencyRequest, KeyChanges, KeyId, KeyMark,
    KeyRevision, KeyStore, NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Purged,
    SaveOutcome, StoreError, StoredKeys, Timestamp, Versioned,
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

use self::poller::Store;
#[cfg(test)]
pub(crate) use self::poller::takes_over;
pub use self::poller::{NextStoreOpener, Poller};

/// The time limit of a call that waits for an open store. The time limit of an HTTP request is usually shorter.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The time limit of a read of a sealed store that waits for a poll.
const MAX_READ_WAIT: Duration = Duration::from_secs(1);

/// The ports of the store that a service uses.
#[derive(Default)]
pub struct CurrentStore {
    view: watch::Sender<View>,
    /// Wakes the polls of each store.
    wake: [Notify; 2],
}

/// The ports of one store.
struct Ports {
    pets: Arc<dyn PetRepository>,
    keys: Arc<dyn KeyStore>,
}

/// The current store, and the last polls of both stores.
#[derive(Default)]
struct View {
    ports: Option<Arc<Ports>>,
    /// The start of the poll that led to `found`. While neither store is open, these are the polls of both stores, and
    /// this is the start of the older one; `None` if the state of the other store is missing, or may change within a
    /// moment.
    began: Option<Instant>,
    /// The result of the last polls of both stores; `None` without a next store.
    found: Option<Found>,
    is_next: bool,
    /// The first store, and the next store once it was opened.
    stores: [Option<Store>; 2],
    /// The last warning about the next store, and its time.
    warning: Option<(String, Instant)>,
    /// The time of the first poll that found the current store sealed.
    sealed: Option<Instant>,
}

/// The result of the last polls of both stores.
#[derive(PartialEq, Eq)]
enum Found {
    /// The current store is open.
    Open,
    /// Neither store is open.
    Sealed,
    /// The current store was handed over to a third store. The reason continues a sentence that begins with "the store".
    Elsewhere(String),
}

impl fmt::Debug for CurrentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentStore").finish_non_exhaustive()
    }
}

impl CurrentStore {
    /// Sets the current store, without a next store. Before the first `set`, every call fails with
    /// [`StoreError::Unavailable`].
    pub fn set(&self, pets: Arc<dyn PetRepository>, keys: Arc<dyn KeyStore>) {
        let ports = Some(Arc::new(Ports { pets, keys }));
        self.view.send_replace(View { ports, ..View::default() });
    }

    /// Removes both stores. Every call then fails with [`StoreError::Unavailable`].
    pub fn clear(&self) {
        self.view.send_replace(View::default());
    }

    /// Returns whether the next store could be read at the last poll.
    #[must_use]
    pub fn next_is_reachable(&self) -> bool {
        self.view.borrow().stores[1].as_ref().is_some_and(|store| store.is_read)
    }

    /// Returns whether the next store is the current store.
    #[must_use]
    pub fn is_next(&self) -> bool {
        self.view.borrow().is_next
    }

    fn ports(&self) -> Result<Arc<Ports>, StoreError> {
        let ports = self.view.borrow().ports.clone();
        ports.ok_or_else(|| {
            StoreError::unavailable("the store has not been reached since the service started")
        })
    }

    /// Wakes the polls, and waits up to `limit` until a poll that begins from now on finds what `may_end` accepts, or
    /// until another store is the current one. Returns whether `ports` are still those of the current store. Fails for
    /// a store that was handed over to a third store.
    async fn wait(
        &self,
        ports: &Arc<Ports>,
        limit: Duration,
        may_end: fn(&Found) -> bool,
    ) -> Result<bool, StoreError> {
        let (now, mut views) = (Instant::now(), self.view.subscribe());
        self.wake.iter().for_each(Notify::notify_one);
        let is_current =
            |view: &View| view.ports.as_ref().is_some_and(|now| Arc::ptr_eq(now, ports));
        let ended = views.wait_for(|view| match &view.found {
            Some(found) if is_current(view) => view.began >= Some(now) && may_end(found),
            _ => true,
        });
        match timeout(limit, ended).await {
            Ok(Ok(view)) => match &view.found {
                Some(Found::Elsewhere(reason)) => Err(StoreError::sealed(reason.clone())),
                _ => Ok(is_current(&view)),
            },
            Ok(Err(_)) | Err(_) => Err(StoreError::unavailable(
                "the store is sealed, and the store that takes its place cannot be reached",
            )),
        }
    }
}

/// Calls the current store until it does not refuse the call as sealed. If `$is_newest` is `false`, the other store may
/// hold newer rows: waits for a poll, and calls again if the other store has become the current one.
macro_rules! on_open_store {
    ($self:ident, |$ports:ident| $call:expr, |$done:ident| $is_newest:expr) => {
        loop {
            let ports = $self.ports()?;
            let $ports = &ports;
            match $call.await {
                // Without a next store, no store replaces the sealed one.
                Err(StoreError::Sealed(_)) if $self.view.borrow().found.is_some() => {
                    $self.wait(&ports, MAX_WAIT, |found| *found != Found::Sealed).await?;
                }
                Ok($done)
                    if !$is_newest && !$self.wait(&ports, MAX_READ_WAIT, |_| true).await? => {}
                done => break done,
            }
        }
    };
}

#[warn(clippy::missing_trait_methods)] // a method with a default body must be forwarded too
#[async_trait]
impl PetRepository for CurrentStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let call = async |ports: &Ports| match ports.pets.add(pet.clone(), request).await {
            Err(AddError::Store(error)) => Err(error),
            added => Ok(added),
        };
        on_open_store!(self, |ports| call(ports), |_added| true)?
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        on_open_store!(self, |ports| ports.pets.find(id), |read| read.version.is_some())
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        on_open_store!(self, |ports| ports.pets.list(query), |read| read.version.is_some())
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.ports().ok()?.pets.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        on_open_store!(self, |ports| ports.pets.purge_expired(cutoff, limit), |_purged| true)
    }
}

#[warn(clippy::missing_trait_methods)] // a method with a default body must be forwarded too
#[async_trait]
impl KeyStore for CurrentStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        // A sealed store returns its keys too, and the other store may have newer keys.
        on_open_store!(self, |ports| ports.keys.load(unless), |_keys| false)
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        on_open_store!(self, |ports| ports.keys.load_changes(known), |_keys| false)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        // If the other store takes over during the call, its keys have another revision: the caller gets a conflict,
        // and loads the keys again.
        on_open_store!(
            self,
            |ports| ports.keys.save(expected, changed.clone(), removed.clone()),
            |_outcome| true
        )
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        on_open_store!(self, |ports| ports.keys.note_uses(uses.clone()), |_noted| true)
    }
}
