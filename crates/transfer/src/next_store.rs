//! The storage ports over two stores, of which one is open: what a service has that was started with a next store.
//!
//! A call goes to the current store. If that refuses it as *sealed*, which has had no effect, the call waits until one
//! of the two is open, and is repeated there. A store that is open because the current one was handed over to it
//! becomes the current one, for good; so the way back works too.
//!
//! Reads go on while the current store is sealed and the other one is not open, as nothing is added anywhere then. What
//! a sealed store gives has no version; before it is passed on, the other store is looked at. A service that has not
//! noticed the seal gives pages from its cache for 100 ms at most, and no mover opens the next store sooner than 200 ms
//! after the seal: no read misses what was acknowledged.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, CatalogueVersion, IdempotencyRequest, KeyId, KeyRevision, KeyStore,
    NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Phase, Purged, Saved, StoreError,
    StoreState, StoredKeys, Timestamp, Versioned,
};
use tokio::{
    sync::Mutex as AsyncMutex,
    time::{Instant, sleep, timeout},
};

use crate::side::Side;

/// How often a call that waits looks for an open store.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);
/// How long a call waits for one. The service's own limit for a request is mostly shorter.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How often the stores are looked at without a reason: the seal may be lost with a server, and a metric says whether
/// the next store can be reached.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a look at the next store may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the log is told why a next store cannot be opened, at most.
const TELL_INTERVAL: Duration = Duration::from_secs(10);
/// How often a next store that cannot be opened is tried.
const OPEN_INTERVAL: Duration = Duration::from_millis(250);

/// Opens the next store, and never makes it.
#[async_trait]
pub trait OpenNext: Send + Sync {
    /// Opens it.
    ///
    /// # Errors
    /// [`StoreError`], also where there is none yet.
    async fn open(&self) -> Result<Side, StoreError>;
}

/// The two stores.
pub struct NextStore {
    first: Side,
    next: AsyncMutex<Next>,
    current: Mutex<Current>,
    next_is_reachable: AtomicBool,
}

struct Next {
    opener: Box<dyn OpenNext>,
    side: Option<Side>,
    tried: Option<Instant>,
    /// Why it was not opened, as the log was told, and when.
    told: Option<(String, Instant)>,
}

impl Next {
    /// Logs why the store is not open, unless the log was told the same, or anything a moment ago.
    fn tell(&mut self, reason: String) {
        let is_new = self
            .told
            .as_ref()
            .is_none_or(|(told, at)| *told != reason && at.elapsed() >= TELL_INTERVAL);
        if is_new {
            tracing::warn!(reason, "the next store cannot be opened yet");
            self.told = Some((reason, Instant::now()));
        }
    }
}

#[derive(Clone)]
struct Current {
    side: Side,
    /// When it was last looked at.
    state: StoreState,
    is_next: bool,
}

impl NextStore {
    /// Returns the ports over `first` and the store that `opener` opens. [`watch`](Self::watch) is to run
    /// beside them.
    ///
    /// # Errors
    /// [`StoreError`] if `first` cannot be read.
    pub async fn start(first: Side, opener: Box<dyn OpenNext>) -> Result<Arc<Self>, StoreError> {
        let state = first.handover.state().await?;
        first.handover.read_while_sealed();
        let current = Current { side: first.clone(), state, is_next: false };
        let store = Arc::new(Self {
            first,
            next: AsyncMutex::new(Next { opener, side: None, tried: None, told: None }),
            current: Mutex::new(current),
            next_is_reachable: AtomicBool::new(false),
        });
        store.look().await;
        Ok(store)
    }

    /// Looks at both stores twice a second, until the store is dropped: for a task beside the service.
    pub async fn watch(store: Weak<Self>) {
        loop {
            sleep(LOOK_INTERVAL).await;
            let Some(store) = store.upgrade() else { return };
            store.look().await;
        }
    }

    /// Returns whether the next store could be read when it was last looked at.
    #[must_use]
    pub fn next_is_reachable(&self) -> bool {
        self.next_is_reachable.load(Ordering::Relaxed)
    }

    /// Returns whether the next store is the current one.
    #[must_use]
    pub fn is_at_next(&self) -> bool {
        self.current().is_next
    }

    fn current(&self) -> Current {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the store that is not the current one, and its state; `None` if it cannot be read.
    async fn other(&self, current: &Current) -> Option<(Side, StoreState)> {
        let side = if current.is_next { self.first.clone() } else { self.open_next().await? };
        let state = timeout(LOOK_TIMEOUT, side.handover.state()).await.ok()?.ok()?;
        Some((side, state))
    }

    async fn open_next(&self) -> Option<Side> {
        let mut next = self.next.lock().await;
        if next.side.is_none() && next.tried.is_none_or(|tried| tried.elapsed() > OPEN_INTERVAL) {
            next.tried = Some(Instant::now());
            match timeout(LOOK_TIMEOUT, next.opener.open()).await {
                Ok(Ok(side)) => {
                    side.handover.read_while_sealed();
                    next.side = Some(side);
                }
                Ok(Err(StoreError::Unavailable(cause))) => next.tell(cause.to_string()),
                Ok(Err(error)) => next.tell(error.to_string()),
                Err(_) => next.tell(format!("it takes longer than {LOOK_TIMEOUT:?}")),
            }
        }
        next.side.clone()
    }

    /// Looks at both stores, and makes the other one the current one if it has taken its place. Whether the other one
    /// could be read.
    async fn look(&self) -> bool {
        let mut current = self.current();
        if let Ok(Ok(state)) = timeout(LOOK_TIMEOUT, current.side.handover.state()).await {
            current.state = state;
        }
        let other = self.other(&current).await;
        if !current.is_next {
            self.next_is_reachable.store(other.is_some(), Ordering::Relaxed);
        }
        let Some((side, state)) = other else { return false };
        // A store that is filled from the other one is no better than that.
        let is_filled = current.state.phase == (Phase::Filling { from: state.id })
            && matches!(state.phase, Phase::Open { .. });
        let mut now = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_next != current.is_next {
            return true;
        }
        if state.succeeds(&current.state) || is_filled {
            tracing::info!(
                store = side.label,
                "the store was handed over: this one is used from now on"
            );
            *now = Current { side, state, is_next: !current.is_next };
        } else {
            now.state = current.state;
        }
        true
    }

    /// Returns whether what a store without a version gave may be passed on: it is the newest that there is.
    async fn confirm(&self, current: &Current) -> Result<bool, StoreError> {
        let state = current.side.handover.state().await?;
        if matches!(state.phase, Phase::Open { .. }) {
            return Ok(true);
        }
        let began = Instant::now();
        while !self.look().await {
            if began.elapsed() > LOOK_TIMEOUT {
                let why =
                    "the store is sealed, and the one that it is handed over to cannot be reached";
                return Err(StoreError::unavailable(why));
            }
            sleep(WAIT_INTERVAL).await;
        }
        Ok(self.current().is_next == current.is_next)
    }
}

impl std::fmt::Debug for NextStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NextStore").finish_non_exhaustive()
    }
}

/// The error of the store in an error of a port, if it is one.
trait Sealable {
    fn is_sealed(&self) -> bool;
}

impl Sealable for StoreError {
    fn is_sealed(&self) -> bool {
        matches!(self, Self::Sealed(_))
    }
}

impl Sealable for AddError {
    fn is_sealed(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_sealed())
    }
}

/// Calls the current store, until it does not refuse the call as sealed.
macro_rules! on_open {
    ($self:ident, |$side:ident| $call:expr) => {{
        let began = Instant::now();
        loop {
            let $side = $self.current().side;
            match $call.await {
                Err(error) if error.is_sealed() && began.elapsed() < MAX_WAIT => {
                    $self.look().await;
                    sleep(WAIT_INTERVAL).await;
                }
                done => break done,
            }
        }
    }};
}

#[async_trait]
impl PetRepository for NextStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        on_open!(self, |side| side.pets.add(pet.clone(), request))
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        loop {
            let current = self.current();
            let found = on_open!(self, |side| side.pets.find(id))?;
            let version = found.as_ref().and_then(|found| found.version);
            if version.is_some() || self.confirm(&current).await? {
                return Ok(found);
            }
        }
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        loop {
            let current = self.current();
            let page = on_open!(self, |side| side.pets.list(query))?;
            if page.version.is_some() || self.confirm(&current).await? {
                return Ok(page);
            }
        }
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.current().side.pets.version()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        on_open!(self, |side| side.pets.purge_expired(cutoff, limit))
    }
}

#[async_trait]
impl KeyStore for NextStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.current().side.keys.load(unless).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        // The other store has another revision: there, it is lost, and tried again by whoever asked for it.
        on_open!(self, |side| side.keys.save(expected, changed.clone(), removed.clone()))
    }
}
