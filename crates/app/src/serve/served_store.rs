//! The store of the service: one, or one and the next one that it is handed over to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use petstore_domain::{KeyStore, PetRepository, StoreError};
use petstore_http::{Figure, Figures, Monitored};
use petstore_transfer::{NextStore, OpenNext, Side};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    driver::{OpenMode, OpenStore, StoreLocation},
    failure::Failure,
};

/// The ports of the service.
pub(super) struct ServedStore {
    pub(super) pets: Arc<dyn PetRepository>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) monitored: Monitored,
    /// Canceled when a task or thread of one of the stores has panicked.
    pub(super) panicked: CancellationToken,
    next: Next,
}

/// The next store while it is open.
type Next = Arc<Mutex<Option<OpenStore>>>;

impl ServedStore {
    /// Returns the ports over `store`, which must be open unless a next store is named: then a task looks at both.
    pub(super) async fn new(
        store: &OpenStore,
        location: &dyn StoreLocation,
        next: Option<Arc<dyn StoreLocation>>,
        tasks: &mut JoinSet<()>,
    ) -> Result<Self, Failure> {
        let (figures, panicked) = (Arc::clone(&store.figures), store.panicked.clone());
        let open = Arc::default();
        let Some(next) = next else {
            store.require_open(location).await?;
            let (pets, keys) = (store.pets.clone(), store.keys.clone());
            let monitored = Monitored { figures, next_store: None };
            return Ok(Self { pets, keys, monitored, panicked, next: open });
        };
        let side = store.side(location).map_err(Failure::runtime)?;
        let opener = Opener { location: next, open: Arc::clone(&open), panicked: panicked.clone() };
        let both = NextStore::start(side, Box::new(opener)).await.map_err(Failure::runtime)?;
        tasks.spawn(NextStore::watch(Arc::downgrade(&both)));
        let (seen, next_seen) = (Arc::downgrade(&both), Arc::downgrade(&both));
        let next = Arc::clone(&open);
        let monitored = Monitored {
            figures: Arc::new(move || both_figures(&seen, &figures, &next)),
            next_store: Some(Arc::new(move || {
                next_seen.upgrade().is_some_and(|both| both.next_is_reachable())
            })),
        };
        Ok(Self { pets: both.clone(), keys: both, monitored, panicked, next: open })
    }

    /// Closes the next store, if it was opened. The service's own is closed by whoever opened it.
    pub(super) async fn close(self) {
        let Self { pets, keys, monitored, panicked: _, next } = self;
        drop((pets, keys, monitored));
        let next = locked(&next).take();
        if let Some(store) = next {
            store.close().await;
        }
    }
}

fn locked(next: &Next) -> MutexGuard<'_, Option<OpenStore>> {
    next.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what the store that answers requests says of itself, `first` or `next`, and which of them it is.
fn both_figures(both: &Weak<NextStore>, first: &Figures, next: &Next) -> Vec<Figure> {
    let Some(both) = both.upgrade() else { return Vec::new() };
    let (is_reachable, is_at_next) = (both.next_is_reachable(), both.is_at_next());
    let of_next = locked(next).as_ref().map(|store| Arc::clone(&store.figures));
    let mut figures = match of_next.filter(|_| is_at_next) {
        Some(of_next) => of_next(),
        None => first(),
    };
    figures.push(Figure::gauge(
        "petstore_next_store_reachable",
        "Whether the store of --next-store could be read when it was last looked at.",
        is_reachable.into(),
    ));
    figures.push(Figure::gauge(
        "petstore_next_store_used",
        "Whether requests are answered from the store of --next-store.",
        is_at_next.into(),
    ));
    figures
}

/// Opens the next store when it is there.
struct Opener {
    location: Arc<dyn StoreLocation>,
    open: Next,
    panicked: CancellationToken,
}

#[async_trait]
impl OpenNext for Opener {
    async fn open(&self) -> Result<Side, StoreError> {
        let opened = self.location.open(OpenMode::ReadWrite).await;
        let opened = opened.map_err(StoreError::Unavailable)?;
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
