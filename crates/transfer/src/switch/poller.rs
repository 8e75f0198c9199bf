//! The task that polls two stores, and selects the one that a service uses. A store that hangs does not delay the polls
//! of the other store.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{Handover, Phase, StoreError, StoreState};
use tokio::time::{Instant, sleep, timeout};

use super::{CurrentStore, Found, Poll, Ports, View};
use crate::store_ports::StorePorts;

/// The interval of polls while the current store is not open.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);
/// The interval of polls while the current store is open: a metric shows whether the next store can be reached.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit of reading a state.
const READ_LIMIT: Duration = Duration::from_secs(1);
/// The interval of attempts to open the next store.
const OPEN_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest interval between two warnings.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The time after the seal for which a missing next store may still appear.
const MISSING_LIMIT: Duration = Duration::from_secs(2);

/// Opens the next store, and never creates it.
#[async_trait]
pub trait NextStoreOpener: Send + Sync {
    /// Opens the next store for the service, with reads while it is sealed.
    ///
    /// # Errors
    /// [`StoreError`], also if the store does not exist yet.
    async fn open(&self) -> Result<StorePorts, StoreError>;
}

/// Polls two stores, and makes the open one the [`CurrentStore`].
pub struct Poller {
    current: Arc<CurrentStore>,
    opener: Box<dyn NextStoreOpener>,
    polls: Mutex<Polls>,
}

/// The result of the last poll of each store.
struct Polls {
    /// The first store, and the next store once it was opened.
    stores: [Option<Store>; 2],
    /// The reason why the last attempt to open the next store failed.
    problem: String,
    is_next: bool,
    sealed_since: Option<Instant>,
    logged: Option<(String, Instant)>,
}

struct Store {
    ports: Arc<Ports>,
    side: StorePorts,
    /// The last state that was read.
    state: Option<StoreState>,
    /// The start of the last poll.
    began: Instant,
    /// `true` if the last poll read the state.
    is_read: bool,
}

impl Store {
    fn new(side: StorePorts, state: Option<StoreState>) -> Self {
        let ports = Arc::new(Ports { pets: side.pets.clone(), keys: side.keys.clone() });
        Self { ports, side, state, began: Instant::now(), is_read: false }
    }
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").finish_non_exhaustive()
    }
}

impl Poller {
    /// Makes `current` use `first`, or the next store if it has taken the place of `first`. [`run`](Self::run) must run
    /// beside the service.
    ///
    /// # Errors
    /// [`StoreError`] if `first` cannot be read.
    pub async fn start(
        current: Arc<CurrentStore>,
        first: StorePorts,
        opener: Box<dyn NextStoreOpener>,
    ) -> Result<Self, StoreError> {
        let state = first.handover.state().await?;
        let polls = Mutex::new(Polls {
            stores: [Some(Store::new(first, Some(state))), None],
            problem: String::new(),
            is_next: false,
            sealed_since: None,
            logged: None,
        });
        let poller = Self { current, opener, polls };
        tokio::join!(poller.poll(0), poller.poll(1));
        Ok(poller)
    }

    /// Polls both stores until the future is dropped.
    pub async fn run(self) -> Infallible {
        tokio::join!(self.follow(0), self.follow(1)).0
    }

    /// Polls the store at `place` until the future is dropped.
    async fn follow(&self, place: usize) -> Infallible {
        loop {
            let found = self.poll(place).await;
            let is_there = self.handover(place).is_some();
            sleep(if is_there { WAIT_INTERVAL } else { OPEN_INTERVAL }).await;
            if found == Found::Open {
                let _ = timeout(POLL_INTERVAL, self.current.wake[place].notified()).await;
            } else {
                self.current.wake();
            }
        }
    }

    /// Reads the state of the store at `place`, and publishes the result.
    async fn poll(&self, place: usize) -> Found {
        let began = Instant::now();
        if place == 1 && self.handover(place).is_none() {
            self.open_next().await;
        }
        let state = match self.handover(place) {
            Some(handover) => timeout(READ_LIMIT, handover.state()).await.ok().and_then(Result::ok),
            None => None,
        };
        self.locked().note(place, began, state, &self.current)
    }

    async fn open_next(&self) {
        let opened = timeout(READ_LIMIT, self.opener.open()).await;
        let mut polls = self.locked();
        let problem = match opened {
            Ok(Ok(side)) => return polls.stores[1] = Some(Store::new(side, None)),
            Ok(Err(StoreError::Unavailable(cause))) => cause.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("opening it takes longer than {READ_LIMIT:?}"),
        };
        polls.problem.clone_from(&problem);
        polls.log(problem, false);
    }

    fn handover(&self, place: usize) -> Option<Arc<dyn Handover>> {
        self.locked().stores[place].as_ref().map(|store| Arc::clone(&store.side.handover))
    }

    fn locked(&self) -> MutexGuard<'_, Polls> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Polls {
    /// Records the state of a store, and publishes the result. `state` is `None` if it could not be read.
    fn note(
        &mut self,
        place: usize,
        began: Instant,
        state: Option<StoreState>,
        current: &CurrentStore,
    ) -> Found {
        if let Some(store) = &mut self.stores[place] {
            (store.began, store.is_read) = (began, state.is_some());
            store.state = state.or(store.state.take());
        }
        let (found, began) = self.found();
        if found == Found::Open {
            self.sealed_since = None;
        }
        let [store, next] = [usize::from(self.is_next), 1].map(|place| self.stores[place].as_ref());
        current.view.send_replace(View {
            ports: store.map(|store| Arc::clone(&store.ports)),
            poll: Some(Poll { began, found: found.clone() }),
            is_next: self.is_next,
            next_is_reachable: next.is_some_and(|next| next.is_read),
        });
        found
    }

    /// Returns the result of the last polls, and the start of the older one. Switches to the other store if it has taken
    /// the place of the current one.
    fn found(&mut self) -> (Found, Instant) {
        let [first, next] = &self.stores;
        let (now, other) = if self.is_next { (next, first) } else { (first, next) };
        let Some((store, now)) = now.as_ref().and_then(|now| Some((now, now.state.clone()?)))
        else {
            return (Found::Unknown, Instant::now());
        };
        let other = other.as_ref().map(|other| (other, other.state.clone()));
        if let Some((other, Some(theirs))) = &other
            && other.is_read
            && takes_over(theirs, &now)
        {
            let store = &other.side.label;
            tracing::info!(store, "the store was handed over: this one is used from now on");
            self.is_next = !self.is_next;
            return (Found::Open, Instant::now());
        }
        // The other store does not matter while the current store is open, and it may hang.
        if now.phase.is_open() {
            let found = if store.is_read { Found::Open } else { Found::Unknown };
            return (found, store.began);
        }
        let began = other.as_ref().map_or(store.began, |(other, _)| other.began.min(store.began));
        let is_read = other.as_ref().is_some_and(|(other, _)| other.is_read);
        let theirs = other.and_then(|(_, theirs)| theirs);
        (self.closed(&now, theirs.as_ref(), is_read), began)
    }

    /// Returns the result of polls if the current store is not open and the other one has not taken its place.
    fn closed(&mut self, now: &StoreState, other: Option<&StoreState>, is_read: bool) -> Found {
        let since = *self.sealed_since.get_or_insert_with(Instant::now);
        let (to, label) = match &now.phase {
            Phase::Sealed { to, label } => (*to, label.as_str()),
            Phase::Filling { from } => (*from, "another store"),
            Phase::Open { .. } => return Found::Open,
        };
        let mut reason = now.phase.refusal().unwrap_or_default();
        let is_young = since.elapsed() < MISSING_LIMIT;
        let advice = match other {
            Some(other) if other.id == to => match &other.phase {
                _ if !is_read => return Found::Unknown,
                Phase::Filling { from } if *from == now.id => return Found::Sealed,
                // The server of the other store lost its last changes.
                Phase::Open { .. } => return Found::Sealed,
                Phase::Sealed { to: third, label } if *third != now.id => {
                    reason = other.phase.refusal().unwrap_or_default();
                    format!("the next store {reason}: restart this service with --store {label}")
                }
                // This occurs for a moment while a handover is canceled.
                _ if is_young => return Found::Unknown,
                Phase::Filling { .. } | Phase::Sealed { .. } => format!(
                    "the store {reason}, but the store of --next-store is not open in its place; \
                     'petstore check' shows the state of each"
                ),
            },
            None if is_young => return Found::Unknown,
            Some(_) => format!(
                "the store {reason}: it is not the store of --next-store; restart this service with --store {label}"
            ),
            None => format!(
                "the store {reason}: --next-store cannot be opened ({}); if it is another store, restart this \
                 service with --store {label}",
                self.problem
            ),
        };
        self.log(advice, true);
        Found::Elsewhere(reason)
    }

    /// Logs why the next store is not used. Skips a repeated line, and a warning soon after another line.
    fn log(&mut self, reason: String, is_error: bool) {
        let is_new = self.logged.as_ref().is_none_or(|(logged, at)| {
            *logged != reason && (is_error || at.elapsed() >= LOG_INTERVAL)
        });
        if !is_new {
            return;
        }
        if is_error {
            tracing::error!("{reason}");
        } else {
            tracing::warn!(reason, "the next store cannot be opened yet");
        }
        self.logged = Some((reason, Instant::now()));
    }
}

/// Returns whether a service that uses `current` must switch to `other`.
pub(crate) fn takes_over(other: &StoreState, current: &StoreState) -> bool {
    // A store that is being filled cannot be used, and holds no row that `other` lacks.
    let is_filled = current.phase == Phase::Filling { from: other.id } && other.phase.is_open();
    other.is_successor_of(current) || is_filled
}
