//! The other store of a move, as a service opens it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::StoreError;

use crate::side::{OpenSide, Side};

/// How often opening is tried while nothing needs the store.
const OPEN_INTERVAL: Duration = Duration::from_secs(1);

/// The other store, open or not.
pub(crate) struct Peer {
    opener: Arc<dyn OpenSide>,
    open: Option<(String, Side)>,
    tried: Option<Instant>,
}

impl Peer {
    pub(crate) fn new(opener: Arc<dyn OpenSide>) -> Self {
        Self { opener, open: None, tried: None }
    }

    /// The store, if it is open.
    pub(crate) fn get(&self) -> Option<Side> {
        self.open.as_ref().map(|(_, side)| side.clone())
    }

    /// The move is over: the next one may be with another store.
    pub(crate) fn forget(&mut self) {
        (self.open, self.tried) = (None, None);
    }

    /// The store at `url`.
    pub(crate) async fn open(&mut self, url: &str) -> Result<Side, StoreError> {
        if let Some((_, side)) = self.open.as_ref().filter(|(open, _)| open == url) {
            return Ok(side.clone());
        }
        self.tried = Some(Instant::now());
        let side = self.opener.open(url).await?;
        let store = self.opener.shown(url);
        tracing::info!(store, "this store is being moved; the other one is open");
        self.open = Some((url.to_owned(), side.clone()));
        Ok(side)
    }

    /// The store at `url`, if it can be opened, while nothing needs it.
    pub(crate) async fn try_open(&mut self, url: &str) -> Option<Side> {
        let is_early = self.tried.is_some_and(|tried| tried.elapsed() < OPEN_INTERVAL);
        if self.open.is_none() && is_early {
            return None;
        }
        self.open(url).await.ok()
    }
}
