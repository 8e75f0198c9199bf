//! The store of the service, which may be moved to another one meanwhile.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use petstore_domain::{KeyStore, PetRepository, StoreError};
use petstore_http::Figures;
use petstore_relocation::{OpenSide, RelocatingStore, Side, Watch};
use tokio_util::sync::CancellationToken;

use crate::{
    driver::{OpenMode, OpenStore},
    failure::Failure,
    registry::Registry,
};

/// The ports of the service. Reads and writes go to whichever store decides.
pub(super) struct MovableStore {
    pub(super) pets: Arc<dyn PetRepository>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) figures: Figures,
    /// Canceled when a task or thread of one of the stores has panicked.
    pub(super) panicked: CancellationToken,
    /// `None` if the store takes part in no move.
    watch: Option<Watch>,
    others: Arc<OtherStores>,
}

impl MovableStore {
    /// Over `store`, which must not have been moved to another one.
    pub(super) async fn new(store: &OpenStore, stores: &Arc<Registry>) -> Result<Self, Failure> {
        let panicked = store.panicked.clone();
        let others = Arc::new(OtherStores {
            stores: Arc::clone(stores),
            open: Mutex::default(),
            panicked: panicked.clone(),
        });
        let figures = Arc::clone(&store.figures);
        let Some(side) = store.side() else {
            let (pets, keys) = (store.pets.clone(), store.keys.clone());
            return Ok(Self { pets, keys, figures, panicked, watch: None, others });
        };
        let relocating = match RelocatingStore::start(side, others.clone()).await {
            Ok(relocating) => relocating,
            Err(error) => {
                others.close().await;
                return Err(match error {
                    StoreError::Fenced(reason) => Failure::runtime(reason),
                    error @ (StoreError::Unavailable(_)
                    | StoreError::Refused(_)
                    | StoreError::Corrupt(_)) => Failure::runtime(error),
                });
            }
        };
        let watch = Some(Watch::start(&relocating));
        Ok(Self { pets: relocating.clone(), keys: relocating, figures, panicked, watch, others })
    }

    /// Closes the other store, if one was opened. The service's own is closed by whoever opened it.
    pub(super) async fn close(self) {
        let Self { pets, keys, figures, panicked: _, watch, others } = self;
        if let Some(watch) = watch {
            watch.stop().await;
        }
        drop((pets, keys, figures));
        others.close().await;
    }
}

/// The stores that were opened because a row of a move names them.
struct OtherStores {
    stores: Arc<Registry>,
    /// With the handles that each had when it was opened.
    open: Mutex<Vec<(OpenStore, usize)>>,
    panicked: CancellationToken,
}

impl OtherStores {
    async fn close(&self) {
        let open = mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for (store, handles) in open {
            if !store.close(handles).await {
                tracing::warn!("the store took too long to close; nothing acknowledged is lost");
            }
        }
    }
}

#[async_trait]
impl OpenSide for OtherStores {
    async fn open(&self, url: &str) -> Result<Side, StoreError> {
        let location = self.stores.parse(url, true).map_err(StoreError::Unavailable)?;
        let opened = location.open(OpenMode::ReadWrite).await.map_err(StoreError::Unavailable)?;
        let handles = opened.handles();
        let (other, all) = (opened.panicked.clone(), self.panicked.clone());
        tokio::spawn(async move {
            other.cancelled().await;
            all.cancel();
        });
        let side = opened
            .side()
            .ok_or_else(|| StoreError::unavailable("this kind of store takes part in no move"))?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push((opened, handles));
        Ok(side)
    }

    fn shown(&self, url: &str) -> String {
        let location = self.stores.parse(url, true);
        location.map_or_else(|_| "another store".to_owned(), |location| location.to_string())
    }
}
