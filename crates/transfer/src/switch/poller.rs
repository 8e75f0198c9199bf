//! The task that decides which of two stores a service uses.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{Phase, StoreError, StoreState};
use tokio::time::{Instant, sleep, timeout};

use super::{CurrentStore, Found, Poll, Ports, View};
use crate::store_ports::StorePorts;

/// How often both stores are polled while the current one is not open.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);
/// How often they are polled otherwise: a server may lose the seal, and a metric says whether the next store can be
/// reached.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Limits how long reading a state may take.
const READ_LIMIT: Duration = Duration::from_secs(1);
/// How often a next store that cannot be opened is tried.
const OPEN_INTERVAL: Duration = Duration::from_millis(250);
/// How often the log says the same at most.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// How long a next store that was never there is waited for once the current one is sealed.
const MISSING_LIMIT: Duration = Duration::from_secs(2);

/// Opens the next store, and never makes it.
#[async_trait]
pub trait NextStoreOpener: Send + Sync {
    /// Opens it for the service, with reads while it is sealed.
    ///
    /// # Errors
    /// [`StoreError`], also where there is none yet.
    async fn open(&self) -> Result<StorePorts, StoreError>;
}

/// Polls two stores, and makes the one that is open the [`CurrentStore`].
pub struct Poller {
    current: Arc<CurrentStore>,
    opener: Box<dyn NextStoreOpener>,
    /// The first store, and the next one once it is open.
    stores: [Option<Store>; 2],
    opened_at: Option<Instant>,
    /// Why the next store was not opened at the last attempt.
    problem: String,
    is_next: bool,
    sealed_since: Option<Instant>,
    logged: Option<(String, Instant)>,
}

#[derive(Clone)]
struct Store {
    ports: Arc<Ports>,
    side: StorePorts,
    /// As it was last read.
    state: Option<StoreState>,
}

impl Store {
    fn new(side: StorePorts) -> Self {
        let ports = Arc::new(Ports { pets: side.pets.clone(), keys: side.keys.clone() });
        Self { ports, side, state: None }
    }

    /// Reads the state. Returns whether it could be read.
    async fn read(&mut self) -> bool {
        let state = timeout(READ_LIMIT, self.side.handover.state()).await;
        let Ok(Ok(state)) = state else { return false };
        self.state = Some(state);
        true
    }
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").finish_non_exhaustive()
    }
}

impl Poller {
    /// Lets `current` use `first`, or the store that `opener` opens if that has taken its place.
    /// [`run`](Self::run) must run beside the service.
    ///
    /// # Errors
    /// [`StoreError`] if `first` cannot be read.
    pub async fn start(
        current: Arc<CurrentStore>,
        first: StorePorts,
        opener: Box<dyn NextStoreOpener>,
    ) -> Result<Self, StoreError> {
        let mut first = Store::new(first);
        first.state = Some(first.side.handover.state().await?);
        let mut poller = Self {
            current,
            opener,
            stores: [Some(first), None],
            opened_at: None,
            problem: String::new(),
            is_next: false,
            sealed_since: None,
            logged: None,
        };
        poller.poll().await;
        Ok(poller)
    }

    /// Polls until it is dropped.
    pub async fn run(mut self) -> std::convert::Infallible {
        let current = Arc::clone(&self.current);
        loop {
            if self.poll().await == Found::Open {
                tokio::select! {
                    () = sleep(POLL_INTERVAL) => {}
                    () = current.wake.notified() => {}
                }
            } else {
                sleep(WAIT_INTERVAL).await;
            }
        }
    }

    /// Reads both states, and publishes what follows.
    async fn poll(&mut self) -> Found {
        let began = Instant::now();
        self.open_next().await;
        let [first, next] = &mut self.stores;
        let read = async |store: &mut Option<Store>| match store {
            Some(store) => store.read().await,
            None => false,
        };
        let is_read: [bool; 2] = tokio::join!(read(first), read(next)).into();
        let [current, other] = if self.is_next { [1, 0] } else { [0, 1] };
        let state =
            |place: usize| self.stores[place].as_ref().and_then(|store| store.state.as_ref());
        if let (Some(now), Some(theirs)) = (state(current), state(other))
            && is_read[other]
            && takes_over(theirs, now)
        {
            self.is_next = !self.is_next;
            self.sealed_since = None;
            let store = self.stores[other].as_ref().map(|store| store.side.label.clone());
            tracing::info!(store, "the store was handed over: this one is used from now on");
            return self.publish(began, Found::Open, is_read[1]);
        }
        let found = match state(current) {
            Some(state) if !is_read[current] && state.phase.is_open() => Found::Unknown,
            None => Found::Unknown,
            Some(state) if state.phase.is_open() => Found::Open,
            Some(now) => {
                let (now, theirs) = (now.clone(), state(other).cloned());
                self.closed(&now, theirs.as_ref(), is_read[other])
            }
        };
        if found == Found::Open {
            self.sealed_since = None;
        }
        self.publish(began, found, is_read[1])
    }

    /// Returns the result of a poll of a current store that is not open, and of another one that has not taken its place.
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
                // A server that has lost its last changes.
                Phase::Open { .. } => return Found::Sealed,
                Phase::Sealed { to: third, label } if *third != now.id => {
                    reason = other.phase.refusal().unwrap_or_default();
                    format!("the next store {reason}: restart this service with --store {label}")
                }
                // As for a moment while a handover is canceled.
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

    fn publish(&mut self, began: Instant, found: Found, next_is_reachable: bool) -> Found {
        let store = self.stores[usize::from(self.is_next)].as_ref();
        let (ports, is_next) = (store.map(|store| Arc::clone(&store.ports)), self.is_next);
        let poll = Some(Poll { began, found: found.clone() });
        self.current.view.send_replace(View { ports, poll, is_next, next_is_reachable });
        found
    }

    async fn open_next(&mut self) {
        let is_due = self.opened_at.is_none_or(|tried| tried.elapsed() > OPEN_INTERVAL);
        if self.stores[1].is_some() || !is_due {
            return;
        }
        self.opened_at = Some(Instant::now());
        let problem = match timeout(READ_LIMIT, self.opener.open()).await {
            Ok(Ok(side)) => return self.stores[1] = Some(Store::new(side)),
            Ok(Err(StoreError::Unavailable(cause))) => cause.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it takes longer than {READ_LIMIT:?}"),
        };
        self.problem.clone_from(&problem);
        self.log(problem, false);
    }

    /// Logs why the next store is not used, unless the log has the same line already, or any line of a moment ago.
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

/// Returns whether a service whose current store is `current` uses `other` from now on.
pub(crate) fn takes_over(other: &StoreState, current: &StoreState) -> bool {
    // A store that is filled from the other one is no better than that.
    let is_filled = current.phase == Phase::Filling { from: other.id } && other.phase.is_open();
    other.is_successor_of(current) || is_filled
}
