//! The store of the service: one, or one and the next one that it is handed over to. It is open from the start, or as
//! soon as it can be reached; until then, its ports say that it is not.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, Archive, CatalogueVersion, IdempotencyRequest, KeyId, KeyRevision,
    KeyStore, NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Purged, Saved, StoreError,
    StoredKeys, Timestamp, Versioned,
};
use petstore_http::{MonitoringSources, Sample};
use petstore_transfer::{NextStore, OpenNext, Side};
use sd_notify::NotifyState;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::upgrade,
    serve::{first_key, listener::BoundAddress, service_manager::notify},
    stores::driver::{OpenMode, OpenStore, StoreLocation},
    system::{console::Console, failure::Failure},
};

/// How often a store that cannot be reached is tried.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What opening the store of the service takes.
pub(super) struct Opening {
    pub(super) location: Arc<dyn StoreLocation>,
    /// Where the next store is, if there is to be one.
    pub(super) next: Option<Arc<dyn StoreLocation>>,
    /// Whether an older schema is upgraded.
    pub(super) upgrade: bool,
    /// How to make an API key, and where it is used, if the store is to have one.
    pub(super) first_key: Option<(String, BoundAddress)>,
}

/// The ports of the service.
pub(super) struct ServedStore {
    pub(super) pets: Arc<dyn PetRepository>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) monitored: MonitoringSources,
    /// One task, which ends with why the service cannot go on: the store cannot be used, or one of its own tasks has
    /// panicked.
    pub(super) watching: JoinSet<Failure>,
    opened: Slot,
}

/// What is open, for as long as it is.
type Slot = Arc<Mutex<Option<Opened>>>;

struct Opened {
    store: OpenStore,
    pets: Arc<dyn PetRepository>,
    keys: Arc<dyn KeyStore>,
    both: Option<Both>,
}

/// A store that may be handed over, and the next one while that is open.
struct Both {
    ports: Arc<NextStore>,
    next: Arc<Mutex<Option<OpenStore>>>,
}

impl ServedStore {
    /// Opens the store. One that cannot be reached is opened later, and its ports are unavailable until then.
    ///
    /// # Errors
    /// [`Failure::Unusable`] says why the store cannot be used whether it is reached or not.
    pub(super) async fn open(opening: Opening) -> Result<Self, Failure> {
        let has_next = opening.next.is_some();
        let (late, slot) = (Arc::new(LateStore::default()), Slot::default());
        let mut ports: (Arc<dyn PetRepository>, Arc<dyn KeyStore>) = (late.clone(), late.clone());
        let mut watching = JoinSet::new();
        match opening.open().await {
            Ok(opened) => {
                // Nothing stands in their place.
                ports = (opened.pets.clone(), opened.keys.clone());
                watching.spawn(opened.watch());
                *locked(&slot) = Some(opened);
            }
            Err(Failure::Unreachable(cause)) => {
                let store = opening.location.to_string();
                tracing::error!(
                    store,
                    cause,
                    "the store cannot be reached: requests are answered 503 until it can"
                );
                notify(&[NotifyState::Status(&format!("Waiting for the store: {cause}"))]);
                let slot = Arc::clone(&slot);
                watching.spawn(async move { opening.open_late(&late, &slot).await });
            }
            Err(failure) => return Err(failure),
        }
        let (figures, next) = (Arc::clone(&slot), Arc::clone(&slot));
        let next_is_reachable = move || {
            let opened = locked(&next);
            let both = opened.as_ref().and_then(|opened| opened.both.as_ref());
            both.is_some_and(|both| both.ports.next_is_reachable())
        };
        let monitored = MonitoringSources {
            samples: Arc::new(move || {
                locked(&figures).as_ref().map_or_else(Vec::new, Opened::figures)
            }),
            next_store_reachable: has_next.then(|| Arc::new(next_is_reachable) as _),
        };
        Ok(Self { pets: ports.0, keys: ports.1, monitored, watching, opened: slot })
    }

    /// Returns the archive of the store, if it is open and has one.
    pub(super) fn archive(&self) -> Option<Arc<dyn Archive>> {
        locked(&self.opened).as_ref()?.store.archive.clone()
    }

    /// Closes what is open.
    pub(super) async fn close(self) {
        let Self { pets, keys, monitored, mut watching, opened } = self;
        // A store that is just being opened is closed by being dropped.
        watching.shutdown().await;
        drop((pets, keys, monitored));
        let Some(Opened { store, pets, keys, both }) = locked(&opened).take() else { return };
        drop((pets, keys));
        if let Some(Both { ports, next }) = both {
            drop(ports);
            let next = locked(&next).take();
            if let Some(next) = next {
                next.close().await;
            }
        }
        store.close().await;
    }
}

impl Opening {
    /// Tries until the store is open, hands it to `late`, and then watches it. Returns why the service cannot go on.
    async fn open_late(&self, late: &LateStore, slot: &Slot) -> Failure {
        let opened = loop {
            sleep(RETRY_INTERVAL).await;
            match self.open().await {
                Ok(opened) => break opened,
                Err(Failure::Unreachable(cause)) => {
                    notify(&[NotifyState::Status(&format!("Waiting for the store: {cause}"))]);
                }
                Err(failure) => return failure,
            }
        };
        let watching = opened.watch();
        // Nobody else sets it.
        let _ = late.0.set((opened.pets.clone(), opened.keys.clone()));
        *locked(slot) = Some(opened);
        tracing::info!("the store can be reached: requests are answered");
        notify(&[NotifyState::Status("Serving")]);
        watching.await
    }

    async fn open(&self) -> Result<Opened, Failure> {
        let opening = async {
            if self.upgrade {
                upgrade::before_serving(&*self.location).await?;
            }
            let store = self.location.open(OpenMode::Create).await.map_err(Failure::of_store)?;
            match self.complete(&store).await {
                Ok((pets, keys, both)) => Ok(Opened { store, pets, keys, both }),
                Err(failure) => {
                    store.close().await;
                    Err(failure)
                }
            }
        };
        opening.await.map_err(Failure::of_unusable_store)
    }

    /// Returns the ports over `store`. If it has no API key, it gets one.
    async fn complete(&self, store: &OpenStore) -> Result<Ports, Failure> {
        let ports = self.ports(store).await?;
        if let Some((how, address)) = &self.first_key {
            let file = self.location.key_file();
            first_key::ensure(&*ports.1, file, how, address, &mut Console).await?;
        }
        if let Some(store) = &store.made_at {
            tracing::info!(store, "made a new store");
        }
        Ok(ports)
    }

    /// Returns the ports over `store`, which must be open unless a next store is named.
    async fn ports(&self, store: &OpenStore) -> Result<Ports, Failure> {
        let location = &*self.location;
        let Some(next) = &self.next else {
            store.require_open(location).await?;
            return Ok((store.pets.clone(), store.keys.clone(), None));
        };
        let side = store.side(location).map_err(Failure::runtime)?;
        let (location, panicked) = (Arc::clone(next), store.panicked.clone());
        let next = Arc::<Mutex<Option<OpenStore>>>::default();
        let opener = Opener { location, open: Arc::clone(&next), panicked };
        let ports = NextStore::start(side, Box::new(opener)).await.map_err(Failure::of_store)?;
        Ok((ports.clone(), ports.clone(), Some(Both { ports, next })))
    }
}

/// The ports over a store, and both of them if there are two.
type Ports = (Arc<dyn PetRepository>, Arc<dyn KeyStore>, Option<Both>);

impl Opened {
    /// Looks at both stores, if there are two, until one of their tasks has panicked.
    fn watch(&self) -> impl Future<Output = Failure> + Send + 'static {
        let panicked = self.store.panicked.clone();
        let both = self.both.as_ref().map(|both| Arc::downgrade(&both.ports));
        async move {
            if let Some(both) = both {
                tokio::select! {
                    () = NextStore::watch(both) => {}
                    () = panicked.cancelled() => {}
                }
            } else {
                panicked.cancelled().await;
            }
            Failure::of_bug()
        }
    }

    /// Returns what the store that answers requests says of itself and, if there are two, which of them it is.
    fn figures(&self) -> Vec<Sample> {
        let Some(Both { ports, next }) = &self.both else { return (self.store.figures)() };
        let (is_reachable, is_at_next) = (ports.next_is_reachable(), ports.is_at_next());
        let of_next = locked(next).as_ref().map(|store| Arc::clone(&store.figures));
        let mut figures = match of_next.filter(|_| is_at_next) {
            Some(of_next) => of_next(),
            None => (self.store.figures)(),
        };
        figures.push(Sample::gauge(
            "petstore_next_store_reachable",
            "Whether the store of --next-store could be read when it was last looked at.",
            is_reachable.into(),
        ));
        figures.push(Sample::gauge(
            "petstore_next_store_used",
            "Whether requests are answered from the store of --next-store.",
            is_at_next.into(),
        ));
        figures
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the next store when it is there.
struct Opener {
    location: Arc<dyn StoreLocation>,
    open: Arc<Mutex<Option<OpenStore>>>,
    panicked: CancellationToken,
}

#[async_trait]
impl OpenNext for Opener {
    async fn open(&self) -> Result<Side, StoreError> {
        let opened = self.location.open(OpenMode::ReadWrite).await;
        let failed = |problem| StoreError::unavailable(Failure::of_store(problem).to_string());
        let opened = opened.map_err(failed)?;
        let side = opened.side(&*self.location).map_err(StoreError::unavailable)?;
        let (next, all) = (opened.panicked.clone(), self.panicked.clone());
        tokio::spawn(async move {
            next.cancelled().await;
            all.cancel();
        });
        *locked(&self.open) = Some(opened);
        Ok(side)
    }
}

/// The ports of a store that could not be reached at the start.
#[derive(Default)]
struct LateStore(OnceLock<(Arc<dyn PetRepository>, Arc<dyn KeyStore>)>);

impl LateStore {
    fn pets(&self) -> Result<&dyn PetRepository, StoreError> {
        self.0.get().map(|(pets, _)| &**pets).ok_or_else(not_reached)
    }

    fn keys(&self) -> Result<&dyn KeyStore, StoreError> {
        self.0.get().map(|(_, keys)| &**keys).ok_or_else(not_reached)
    }
}

fn not_reached() -> StoreError {
    StoreError::unavailable("it was not reached since the start of the service")
}

#[async_trait]
impl PetRepository for LateStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.pets()?.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        self.pets()?.find(id).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.pets()?.list(query).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.pets().ok()?.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.pets()?.purge_expired(cutoff, limit).await
    }
}

#[async_trait]
impl KeyStore for LateStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.keys()?.load(unless).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        self.keys()?.save(expected, changed, removed).await
    }
}
