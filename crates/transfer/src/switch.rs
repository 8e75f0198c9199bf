//! The storage ports of a service, over its current store. A call that the current store refuses as *sealed* had no
//! effect. The call waits for the [`Poller`], and is repeated on the open store.
//!
//! Reads continue while neither store is open. Rows of a sealed store, and API keys, are returned once a later poll finds
//! that the next store is not open. Then no other service has written to the next store before the read. A service serves
//! cached pages for at most 100 ms after the seal, and a mover opens the next store at least 200 ms after the seal.

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
    /// `None` without a next store.
    poll: Option<Poll>,
    is_next: bool,
    /// The first store, and the next store once it was opened.
    stores: [Option<Store>; 2],
    /// The last warning about the next store, and its time.
    warning: Option<(String, Instant)>,
    /// The time of the first poll that found the current store sealed, and whether a line about it was logged.
    sealed: Option<(Instant, bool)>,
}

/// The result of the last polls of both stores.
struct Poll {
    /// The start of the older poll.
    began: Instant,
    found: Found,
}

#[derive(Clone, PartialEq, Eq)]
enum Found {
    /// The current store is open.
    Open,
    /// Neither store is open.
    Sealed,
    /// A state could not be read.
    Unknown,
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

    /// Waits until a call that was refused as sealed can be repeated.
    async fn wait_for_open(&self, error: StoreError) -> Result<(), StoreError> {
        let failed_at = Instant::now();
        if self.view.borrow().poll.is_none() {
            return Err(error);
        }
        self.wait_for(MAX_WAIT, |_, poll| {
            poll.began >= failed_at && matches!(poll.found, Found::Open | Found::Elsewhere(_))
        })
        .await
    }

    /// Waits for a poll that began after `began`, the start of a read of `ports`. Returns `false` if another store has
    /// become the current one.
    async fn stays_current(&self, ports: &Arc<Ports>, began: Instant) -> Result<bool, StoreError> {
        let is_current =
            |view: &View| view.ports.as_ref().is_some_and(|now| Arc::ptr_eq(now, ports));
        self.wait_for(MAX_READ_WAIT, |view, poll| {
            !is_current(view) || poll.began >= began && poll.found != Found::Unknown
        })
        .await?;
        Ok(is_current(&self.view.borrow()))
    }

    /// Wakes the polls, and waits up to `limit` for a view that `may_end` accepts. Fails at once for a store that was
    /// handed over to a third store.
    async fn wait_for(
        &self,
        limit: Duration,
        may_end: impl Fn(&View, &Poll) -> bool,
    ) -> Result<(), StoreError> {
        let mut views = self.view.subscribe();
        self.wake.iter().for_each(Notify::notify_one);
        let view = views.wait_for(|view| view.poll.as_ref().is_none_or(|poll| may_end(view, poll)));
        match timeout(limit, view).await.map(|view| view.map(|view| view.reason())) {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(reason))) => Err(StoreError::sealed(reason)),
            Ok(Err(_)) | Err(_) => Err(StoreError::unavailable(
                "the store is sealed, and the store that takes its place cannot be reached",
            )),
        }
    }
}

/// Calls the current store until it does not refuse the call as sealed.
macro_rules! on_open_store {
    ($self:ident, |$ports:ident| $call:expr) => {
        loop {
            let $ports = $self.ports()?;
            match $call.await {
                Err(error @ StoreError::Sealed(_)) => $self.wait_for_open(error).await?,
                done => break done,
            }
        }
    };
}

/// Reads from the current store, and reads again if another store has become the current one. Waits for no poll if
/// `$is_newest`.
macro_rules! read_newest {
    ($self:ident, |$ports:ident| $call:expr, |$read:ident| $is_newest:expr) => {
        loop {
            let (ports, began) = ($self.ports()?, Instant::now());
            let $ports = &ports;
            match $call.await {
                Err(error @ StoreError::Sealed(_)) => $self.wait_for_open(error).await?,
                Ok($read) if !$is_newest && !$self.stays_current(&ports, began).await? => {}
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
        let added = on_open_store!(self, |ports| async {
            match ports.pets.add(pet.clone(), request).await {
                Err(AddError::Store(error)) => Err(error),
                added => Ok(added),
            }
        });
        added?
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        read_newest!(self, |ports| ports.pets.find(id), |read| read.version.is_some())
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        read_newest!(self, |ports| ports.pets.list(query), |read| read.version.is_some())
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.ports().ok()?.pets.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        on_open_store!(self, |ports| ports.pets.purge_expired(cutoff, limit))
    }
}

#[warn(clippy::missing_trait_methods)] // a method with a default body must be forwarded too
#[async_trait]
impl KeyStore for CurrentStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        // A sealed store returns its keys too, and the other store may have newer keys.
        read_newest!(self, |ports| ports.keys.load(unless), |_keys| false)
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        read_newest!(self, |ports| ports.keys.load_changes(known), |_keys| false)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        // The other store has another revision, so the caller gets a conflict and loads the keys again.
        on_open_store!(self, |ports| ports.keys.save(expected, changed.clone(), removed.clone()))
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        on_open_store!(self, |ports| ports.keys.note_uses(uses.clone()))
    }
}
