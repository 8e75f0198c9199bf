//! The store of the service, and the next store with `--next-store`. A store that cannot be reached at the start is
//! opened later; until then its ports return [`StoreError::Unavailable`].

#[cfg(test)]
mod tests;

use std::{convert::Infallible, future, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{KeyStore, PetRepository, StoreError};
use petstore_http::Sample;
use petstore_transfer::{CurrentStore, NextStoreOpener, Poller, StorePorts};
use sd_notify::NotifyState;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    commands::{import, upgrade},
    serve::{
        ServeArgs,
        first_key::{self, FirstKey},
        service_manager::{extend_start, extending, notify},
    },
    stores::{OpenMode, OpenOptions, OpenStore, StoreArg, StoreLocation, not_open, not_open_but},
    system::{Console, Failure},
};

/// The interval between attempts to open a store that cannot be reached.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time for which a start waits for the store before requests get 503. Until then, clients wait in the
/// accept queue, so that a quick restart fails no request.
const BACKLOG_WAIT: Duration = Duration::from_secs(1);
/// The longest time for which an upgrade asks the service manager to extend its start timeout. The progress of an upgrade
/// cannot be observed, because each step is one transaction in the database.
const LONGEST_UPGRADE: Duration = Duration::from_hours(1);

/// The command that creates the store of `--next-store`, which must be empty at the handover. Other commands would add
/// an API key or animals.
const NEXT_MAKER: &str = "'petstore store move' makes it";

/// The configuration of the service's store.
pub(super) struct Opening {
    pub(super) args: ServeArgs,
    /// The text that accompanies the first API key; `None` to create no key.
    pub(super) first_key: Option<FirstKey>,
    /// Called once, when the store is open or the first attempt to reach the store has failed.
    pub(super) on_started: Box<dyn Fn() + Send + Sync>,
}

/// The stores of a running service.
pub(super) struct ServedStore {
    /// One task. Its result is the reason why the service cannot continue: the store is unusable, or one of the store's
    /// tasks has panicked.
    pub(super) watching: JoinSet<Failure>,
    pub(super) stores: Stores,
}

/// The store of the service and the next store.
#[derive(Clone, Default)]
pub(super) struct Stores {
    current: Arc<CurrentStore>,
    has_next: bool,
    /// Both stores, each once it is open.
    opened: Arc<[watch::Sender<Option<OpenStore>>; 2]>,
}

/// Polls the stores if there is a next store. Never ends.
type Polls = Pin<Box<dyn Future<Output = Infallible> + Send>>;

impl ServedStore {
    /// Starts to open the store, and waits up to [`BACKLOG_WAIT`] until the store is open or the first attempt to reach
    /// it has failed. If the store is not open then, opening continues in the background.
    ///
    /// # Errors
    /// The reason why the store is unusable, if it is known within [`BACKLOG_WAIT`].
    pub(super) async fn open(opening: Opening) -> Result<Self, Failure> {
        let has_next = opening.args.next_store.is_some();
        let (stores, started) = (Stores { has_next, ..Stores::default() }, Arc::new(Notify::new()));
        let mut watching = JoinSet::new();
        watching.spawn(opening.run(stores.clone(), started.clone()));
        tokio::select! {
            biased;
            () = started.notified() => {}
            Some(failure) = watching.join_next() => {
                return Err(failure.unwrap_or_else(|_| Failure::of_bug()));
            }
            () = sleep(BACKLOG_WAIT) => {
                tracing::info!("the store is being prepared; requests get 503 until it is open");
            }
        }
        Ok(Self { watching, stores })
    }

    /// Closes the open stores. The caller must have dropped every port.
    pub(super) async fn close(mut self) {
        // Dropping the task closes a store that it is opening.
        self.watching.shutdown().await;
        self.stores.close().await;
    }
}

impl Stores {
    /// Returns the ports of the service: the store's own ports if the store is open and there is no next store; otherwise
    /// ports that pass each call to the current store.
    pub(super) fn ports(&self) -> (Arc<dyn PetRepository>, Arc<dyn KeyStore>) {
        match self.opened[0].borrow().as_ref() {
            Some(store) if !self.has_next => (store.pets.clone(), store.keys.clone()),
            _ => (self.current.clone(), self.current.clone()),
        }
    }

    /// Closes the open stores.
    async fn close(&self) {
        self.current.clear();
        for slot in self.opened.iter().rev() {
            if let Some(store) = slot.send_replace(None) {
                store.close().await;
            }
        }
    }

    /// Returns the samples of the current store; none before a store is open. With a next store, adds two samples:
    /// whether the next store is reachable, and whether requests use it.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let [first, next] = self.opened.each_ref().map(|store| store.borrow());
        let Some(first) = first.as_ref() else { return Vec::new() };
        let store = next.as_ref().filter(|_| self.current.is_next()).unwrap_or(first);
        let mut samples = (store.samples)();
        if self.has_next {
            samples.push(Sample::gauge(
                "petstore_next_store_reachable",
                "Whether the last poll reached the store of --next-store.",
                self.current.next_is_reachable().into(),
            ));
            samples.push(Sample::gauge(
                "petstore_next_store_used",
                "Whether requests use the store of --next-store.",
                self.current.is_next().into(),
            ));
        }
        samples
    }
}

impl Opening {
    /// Opens the store, with retries, and then watches it. Returns why the service cannot continue.
    async fn run(self, stores: Stores, started: Arc<Notify>) -> Failure {
        let (mut is_late, store) = (false, self.args.store.store.location.to_string());
        let polls = loop {
            match self.open(&stores).await {
                Ok(polls) => break polls,
                Err(Failure::Unreachable(cause)) => {
                    notify(&[NotifyState::Status(&format!("Waiting for the store: {cause}"))]);
                    if !is_late {
                        tracing::error!(
                            store,
                            cause,
                            "the store cannot be reached; requests get 503 until it can"
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
        if is_late {
            tracing::info!("the store can be reached; requests are served");
            notify(&[NotifyState::Status("Serving")]);
        } else {
            (self.on_started)();
            started.notify_one();
        }
        tokio::select! {
            never = polls => match never {},
            () = panicked(&stores.opened[0]) => {}
            () = panicked(&stores.opened[1]) => {}
        }
        Failure::of_bug()
    }

    /// Upgrades and opens the store, adds the animals of `--seed`, and makes the store the current store.
    async fn open(&self, stores: &Stores) -> Result<Polls, Failure> {
        let ServeArgs { store, no_upgrade, seed, .. } = &self.args;
        let location = &*store.store.location;
        let opening = async {
            if !no_upgrade {
                let began = Instant::now();
                let upgrade = upgrade::before_serving(location);
                extending(upgrade, || began.elapsed() < LONGEST_UPGRADE, extend_start).await?;
            }
            let options = OpenOptions::new(OpenMode::Create).reads_while_sealed(stores.has_next);
            location.open(options).await.map_err(not_open)
        };
        let store = opening.await.map_err(Failure::of_unusable_store)?;
        let completing = async {
            if let (Some(file), Some(archive)) = (seed, &store.archive) {
                let (advanced, mut progress) = watch::channel(());
                let import = import::all_of(file, &**archive, advanced);
                let has_advanced = || progress.borrow_and_update().has_changed();
                let done = extending(import, has_advanced, extend_start).await?;
                tracing::info!("--seed: {done}");
            }
            self.complete(&store, stores).await.map_err(Failure::of_unusable_store)
        };
        let completed = completing.await;
        if completed.is_ok() {
            stores.opened[0].send_replace(Some(store));
        } else {
            stores.close().await;
            store.close().await;
        }
        completed
    }

    /// Makes `store` the current store, and starts to poll both stores if there is a next store. Without a next
    /// store, refuses a `store` that was handed over or is being filled. Creates the first API key.
    async fn complete(&self, store: &OpenStore, stores: &Stores) -> Result<Polls, Failure> {
        let (mut polls, location): (Polls, _) =
            (Box::pin(future::pending()), &*self.args.store.store.location);
        if let Some(StoreArg { location: next, .. }) = self.args.next_store.clone() {
            let first = store.ports(location)?;
            let next = Box::new(Opener { location: next, stores: stores.clone() });
            let poller = Poller::start(Arc::clone(&stores.current), first, next).await;
            let poller = poller.map_err(Failure::of_store)?;
            polls = Box::pin(async move { poller.run().await });
        } else {
            store.require_open(location).await?;
            stores.current.set(store.pets.clone(), store.keys.clone());
        }
        if let Some(first_key) = &self.first_key {
            let (file, mut console) = (location.first_key_path(), Console);
            // With a next store, loading the keys waits for a poll, so the polls run meanwhile.
            tokio::select! {
                ensured = first_key::ensure(&*stores.current, file, first_key, &mut console) => ensured?,
                never = &mut polls => match never {},
            }
        }
        if let Some(store) = &store.created_at {
            tracing::info!(store, "made a new store");
        }
        Ok(polls)
    }
}

/// Resolves when a task of the store in `slot` has panicked.
async fn panicked(slot: &watch::Sender<Option<OpenStore>>) {
    let mut store = slot.subscribe();
    let store = store.wait_for(Option::is_some).await.ok();
    let token = store.and_then(|store| Some(store.as_ref()?.panicked.clone()));
    token.unwrap_or_default().cancelled_owned().await;
}

/// Opens the next store once it exists.
struct Opener {
    location: Arc<dyn StoreLocation>,
    stores: Stores,
}

#[async_trait]
impl NextStoreOpener for Opener {
    async fn open(&self) -> Result<StorePorts, StoreError> {
        let options = OpenOptions::new(OpenMode::ReadWrite).reads_while_sealed(true);
        let failed =
            |problem| StoreError::unavailable(not_open_but(problem, NEXT_MAKER).to_string());
        let opened = self.location.open(options).await.map_err(failed)?;
        let ports = opened.ports(&*self.location);
        if ports.is_ok() {
            self.stores.opened[1].send_replace(Some(opened));
        } else {
            opened.close().await;
        }
        ports.map_err(StoreError::unavailable)
    }
}
