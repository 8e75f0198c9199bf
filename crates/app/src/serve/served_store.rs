//! The store of the service: one, or one and the next one that it is handed over to. It is open from the start, or as
//! soon as it can be reached; until then, its ports say that it is not.

#[cfg(test)]
mod tests;

use std::{
    future,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{KeyStore, PetRepository, StoreError};
use petstore_http::{MonitoringSources, Sample};
use petstore_transfer::{CurrentStore, NextStoreOpener, Poller, StorePorts};
use sd_notify::NotifyState;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::{import, upgrade},
    serve::{
        first_key::{self, FirstKey},
        service_manager::{extending, notify},
    },
    stores::{
        driver::{OpenMode, OpenOptions, OpenStore, StoreLocation},
        opening::{next_not_open, not_open},
    },
    system::{console::Console, failure::Failure, process::Signals},
};

/// How often a store that cannot be reached is tried.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Clients wait in the accept queue for so long while the store is prepared, so that a restart refuses nobody.
const BACKLOG_WAIT: Duration = Duration::from_secs(1);
/// The time for which the service manager is asked to wait for an upgrade. No store shows how far an upgrade is: a step
/// is one transaction in the database.
const UPGRADE_LIMIT: Duration = Duration::from_hours(1);

/// The configuration of the service's store.
pub(super) struct Opening {
    pub(super) location: Arc<dyn StoreLocation>,
    /// The place of the next store, if there is to be one.
    pub(super) next: Option<Arc<dyn StoreLocation>>,
    /// `true` if an older schema is upgraded.
    pub(super) upgrade: bool,
    /// The text that is printed with the first API key, if the store is to have one.
    pub(super) first_key: Option<FirstKey>,
    /// A file of animals that the store begins with.
    pub(super) seed: Option<PathBuf>,
    pub(super) signals: Signals,
    /// Called once: when the store is open, or as soon as it is found out of reach.
    pub(super) on_started: Box<dyn Fn() + Send + Sync>,
}

/// The ports of the service.
pub(super) struct ServedStore {
    pub(super) pets: Arc<dyn PetRepository>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) monitored: MonitoringSources,
    /// One task, which ends with the reason why the service cannot continue: the store cannot be used, or one of its
    /// tasks has panicked.
    pub(super) watching: JoinSet<Failure>,
    current: Arc<CurrentStore>,
    opened: Slot<Opened>,
}

/// A store that may be open.
type Slot<T> = Arc<Mutex<Option<T>>>;

struct Opened {
    store: OpenStore,
    next: Slot<OpenStore>,
}

impl ServedStore {
    /// Opens the store. Returns after [`BACKLOG_WAIT`] at the latest: a store that cannot be reached, or takes longer, is
    /// opened later, and its ports are unavailable until then.
    ///
    /// # Errors
    /// Says why the store cannot be used whether it is reached or not.
    pub(super) async fn open(opening: Opening) -> Result<Self, Failure> {
        let has_next = opening.next.is_some();
        let (current, slot) = (Arc::<CurrentStore>::default(), Slot::default());
        let (started, mut watching) = (Arc::new(Notify::new()), JoinSet::new());
        watching.spawn(opening.run(Arc::clone(&current), Arc::clone(&slot), started.clone()));
        tokio::select! {
            biased;
            () = started.notified() => {}
            Some(failure) = watching.join_next() => {
                return Err(failure.unwrap_or_else(|_| Failure::of_bug()));
            }
            () = sleep(BACKLOG_WAIT) => {
                tracing::info!("the store is being prepared: requests are answered 503 until it is open");
            }
        }
        let mut ports: (Arc<dyn PetRepository>, Arc<dyn KeyStore>) =
            (current.clone(), current.clone());
        if let Some(opened) = locked(&slot).as_ref().filter(|_| !has_next) {
            ports = (opened.store.pets.clone(), opened.store.keys.clone());
        }
        let (figures, of_figures) = (Arc::clone(&slot), Arc::clone(&current));
        let of_next = Arc::clone(&current);
        let monitored = MonitoringSources {
            samples: Arc::new(move || samples(locked(&figures).as_ref(), &of_figures, has_next)),
            next_store_reachable: has_next
                .then(|| Arc::new(move || of_next.next_is_reachable()) as _),
        };
        Ok(Self { pets: ports.0, keys: ports.1, monitored, watching, current, opened: slot })
    }

    /// Closes what is open.
    pub(super) async fn close(self) {
        let Self { pets, keys, monitored, mut watching, current, opened } = self;
        // A store that is just being opened is closed by being dropped.
        watching.shutdown().await;
        current.clear();
        drop((pets, keys, monitored, current));
        let Some(Opened { store, next }) = locked(&opened).take() else { return };
        let next = locked(&next).take();
        if let Some(next) = next {
            next.close().await;
        }
        store.close().await;
    }
}

impl Opening {
    /// Tries until the store is open, and then watches it. Returns why the service cannot continue.
    async fn run(
        self,
        current: Arc<CurrentStore>,
        slot: Slot<Opened>,
        started: Arc<Notify>,
    ) -> Failure {
        let (mut is_late, store) = (false, self.location.to_string());
        let (opened, watch) = loop {
            match self.open(&current).await {
                Ok(opened) => break opened,
                Err(Failure::Unreachable(cause)) => {
                    notify(&[NotifyState::Status(&format!("Waiting for the store: {cause}"))]);
                    if !is_late {
                        tracing::error!(
                            store,
                            cause,
                            "the store cannot be reached: requests are answered 503 until it can"
                        );
                        (self.on_started)();
                        started.notify_one();
                    }
                    is_late = true;
                    sleep(RETRY_INTERVAL).await;
                }
                Err(failure) => return failure,
            }
        };
        *locked(&slot) = Some(opened);
        if is_late {
            tracing::info!("the store can be reached: requests are answered");
            notify(&[NotifyState::Status("Serving")]);
        } else {
            (self.on_started)();
            started.notify_one();
        }
        watch.await
    }

    /// Opens the store as the current one. Returns it, and a task that ends when the service cannot continue.
    async fn open(
        &self,
        current: &Arc<CurrentStore>,
    ) -> Result<(Opened, impl Future<Output = Failure> + Send + use<>), Failure> {
        let opening = async {
            if self.upgrade {
                let end = Instant::now() + UPGRADE_LIMIT;
                let upgrade = upgrade::before_serving(&*self.location);
                extending(upgrade, || Instant::now() < end).await?;
            }
            let options = OpenOptions::new(OpenMode::Create);
            let options = options.reads_while_sealed(self.next.is_some());
            self.location.open(options).await.map_err(not_open)
        };
        let store = opening.await.map_err(Failure::of_unusable_store)?;
        let completing = async {
            if let (Some(file), Some(archive)) = (&self.seed, &store.archive) {
                let advance = Arc::<AtomicU64>::default();
                let import = import::all_of(file, &**archive, &self.signals, &advance);
                let done = extending(import, || advance.swap(0, Ordering::Relaxed) > 0).await?;
                tracing::info!("--seed: {done}");
            }
            self.complete(&store, current).await.map_err(Failure::of_unusable_store)
        };
        match completing.await {
            Ok((next, watch)) => Ok((Opened { store, next }, watch)),
            Err(failure) => {
                current.clear();
                store.close().await;
                Err(failure)
            }
        }
    }

    /// Lets the service use `store`, which must be open unless a next store is named. If it has no API key, it gets one.
    async fn complete(
        &self,
        store: &OpenStore,
        current: &Arc<CurrentStore>,
    ) -> Result<(Slot<OpenStore>, impl Future<Output = Failure> + Send + use<>), Failure> {
        let (next, mut poller) = (Slot::default(), None);
        let (panicked, mut next_panicked) = watch::channel(None);
        if let Some(location) = self.next.clone() {
            let first = store.ports(&*self.location).map_err(Failure::runtime)?;
            let opener = Box::new(Opener { location, opened: Arc::clone(&next), panicked });
            let started = Poller::start(Arc::clone(current), first, opener).await;
            poller = Some(started.map_err(Failure::of_store)?);
        } else {
            store.require_open(&*self.location).await?;
            current.set(store.pets.clone(), store.keys.clone());
        }
        if let Some(first_key) = &self.first_key {
            let file = self.location.first_key_path();
            first_key::ensure(&**current, file, first_key, &mut Console).await?;
        }
        if let Some(store) = &store.created_at {
            tracing::info!(store, "made a new store");
        }
        let first_panicked = store.panicked.clone();
        let watch = async move {
            let polls = async {
                match poller {
                    Some(poller) => match poller.run().await {},
                    None => future::pending().await,
                }
            };
            let next_panicked = async {
                let token = next_panicked.wait_for(Option::is_some).await;
                match token.ok().and_then(|token| (*token).clone()) {
                    Some(token) => CancellationToken::cancelled(&token).await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                () = polls => {}
                () = first_panicked.cancelled() => {}
                () = next_panicked => {}
            }
            Failure::of_bug()
        };
        Ok((next, watch))
    }
}

/// Returns the samples of the store that answers requests and, if there are two, which of them it is.
fn samples(opened: Option<&Opened>, current: &CurrentStore, has_next: bool) -> Vec<Sample> {
    let Some(Opened { store, next }) = opened else { return Vec::new() };
    let of_next = locked(next).as_ref().map(|store| Arc::clone(&store.samples));
    let mut samples = match of_next.filter(|_| current.is_next()) {
        Some(of_next) => of_next(),
        None => (store.samples)(),
    };
    if has_next {
        samples.push(Sample::gauge(
            "petstore_next_store_reachable",
            "Whether the store of --next-store could be read at the last poll.",
            current.next_is_reachable().into(),
        ));
        samples.push(Sample::gauge(
            "petstore_next_store_used",
            "Whether requests are answered from the store of --next-store.",
            current.is_next().into(),
        ));
    }
    samples
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the next store when it is there.
struct Opener {
    location: Arc<dyn StoreLocation>,
    opened: Slot<OpenStore>,
    /// Canceled when a task of the next store has panicked.
    panicked: watch::Sender<Option<CancellationToken>>,
}

#[async_trait]
impl NextStoreOpener for Opener {
    async fn open(&self) -> Result<StorePorts, StoreError> {
        let options = OpenOptions::new(OpenMode::ReadWrite).reads_while_sealed(true);
        let failed = |problem| StoreError::unavailable(next_not_open(problem).to_string());
        let opened = self.location.open(options).await.map_err(failed)?;
        match opened.ports(&*self.location) {
            Ok(ports) => {
                self.panicked.send_replace(Some(opened.panicked.clone()));
                *locked(&self.opened) = Some(opened);
                Ok(ports)
            }
            Err(problem) => {
                opened.close().await;
                Err(StoreError::unavailable(problem))
            }
        }
    }
}
