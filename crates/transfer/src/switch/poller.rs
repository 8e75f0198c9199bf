//! The task that polls two stores, and selects the store that a service uses. A store that hangs does not delay the
//! polls of the other store.

use std::{convert::Infallible, fmt, mem, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{Handover, Phase, StoreError, StoreState};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

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
}

/// One of the two stores, and its last poll.
pub(super) struct Store {
    ports: Arc<Ports>,
    side: StorePorts,
    /// The last state that was read.
    state: Option<StoreState>,
    /// The start of the poll.
    began: Instant,
    /// `true` if the poll read the state.
    pub(super) is_read: bool,
}

impl Store {
    fn new(side: StorePorts, state: Option<StoreState>) -> Self {
        let ports = Arc::new(Ports { pets: side.pets.clone(), keys: side.keys.clone() });
        Self { ports, side, state, began: Instant::now(), is_read: false }
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        let stores = [Some(Store::new(first, Some(state))), None];
        current.view.send_replace(View { stores, ..View::default() });
        let poller = Self { current, opener };
        tokio::join!(poller.poll(0), poller.poll(1));
        Ok(poller)
    }

    /// Polls both stores until the future is dropped.
    pub async fn run(&self) -> Infallible {
        tokio::join!(self.follow(0), self.follow(1)).0
    }

    /// Polls the store at `place` until the future is dropped.
    async fn follow(&self, place: usize) -> Infallible {
        loop {
            let is_open = self.poll(place).await;
            let is_there = self.handover(place).is_some();
            sleep(if is_there { WAIT_INTERVAL } else { OPEN_INTERVAL }).await;
            if is_open {
                let _ = timeout(POLL_INTERVAL, self.current.wake[place].notified()).await;
            } else {
                self.current.wake.iter().for_each(Notify::notify_one);
            }
        }
    }

    /// Reads the state of the store at `place`, and publishes the result. Returns whether the current store is open.
    async fn poll(&self, place: usize) -> bool {
        let began = Instant::now();
        let mut problem = None;
        if self.handover(place).is_none() {
            let opened = timeout(READ_LIMIT, self.opener.open()).await;
            match opened.unwrap_or_else(|error| Err(StoreError::unavailable(error))) {
                Ok(side) => self.change(|view| view.stores[place] = Some(Store::new(side, None))),
                Err(StoreError::Unavailable(cause)) => problem = Some(cause.to_string()),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        let state = match self.handover(place) {
            Some(handover) => timeout(READ_LIMIT, handover.state()).await.ok().and_then(Result::ok),
            None => None,
        };
        let mut is_open = false;
        self.change(|view| {
            if let Some(store) = &mut view.stores[place] {
                (store.began, store.is_read) = (began, state.is_some());
                store.state = state.or(store.state.take());
            }
            if let Some(problem) = problem {
                view.warn(problem);
            }
            is_open = view.update() == Found::Open;
        });
        is_open
    }

    fn change(&self, change: impl FnOnce(&mut View)) {
        self.current.view.send_modify(change);
    }

    fn handover(&self, place: usize) -> Option<Arc<dyn Handover>> {
        let view = self.current.view.borrow();
        view.stores[place].as_ref().map(|store| Arc::clone(&store.side.handover))
    }
}

impl View {
    /// Returns the reason why neither store can be used; `None` if a store can be used.
    pub(super) fn reason(&self) -> Option<String> {
        match self.poll.as_ref().map(|poll| &poll.found) {
            Some(Found::Elsewhere(reason)) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Selects the current store from the last polls. Returns their result.
    fn update(&mut self) -> Found {
        let poll = self.evaluate();
        let found = poll.found.clone();
        if found == Found::Open {
            self.sealed = None;
        }
        let store = self.stores[usize::from(self.is_next)].as_ref();
        self.ports = store.map(|store| Arc::clone(&store.ports));
        self.poll = Some(poll);
        found
    }

    /// Returns the result of the last polls. Switches to the other store if it has taken the place of the current
    /// store.
    fn evaluate(&mut self) -> Poll {
        let [first, next] = &self.stores;
        let (current, other) = if self.is_next { (next, first) } else { (first, next) };
        let Some((current, now)) = current.as_ref().and_then(|it| Some((it, it.state.as_ref()?)))
        else {
            return Poll { began: Instant::now(), found: Found::Unknown };
        };
        let other_state = other.as_ref().and_then(|other| other.state.as_ref());
        if let (Some(other), Some(state)) = (other, other_state)
            && other.is_read
            && takes_over(state, now)
        {
            let store = &other.side.label;
            tracing::info!(store, "the service has switched to the store that took over");
            self.is_next = !self.is_next;
            return Poll { began: Instant::now(), found: Found::Open };
        }
        // The other store does not matter while the current store is open, and it may hang.
        if now.phase.is_open() {
            let found = if current.is_read { Found::Open } else { Found::Unknown };
            return Poll { began: current.began, found };
        }
        let (since, is_logged) = self.sealed.get_or_insert_with(|| (Instant::now(), false));
        let is_young = since.elapsed() < MISSING_LIMIT;
        let began = other.as_ref().map_or(current.began, |other| other.began.min(current.began));
        let is_read = other.as_ref().is_some_and(|other| other.is_read);
        let found = match unopened(now, other_state, is_read, is_young) {
            Ok(found) => found,
            Err((reason, label)) => {
                if !mem::replace(is_logged, true) {
                    tracing::error!(
                        "the store {reason}, but the store of --next-store is not open in its place: restart this \
                         service with --store {label}"
                    );
                }
                Found::Elsewhere(reason)
            }
        };
        Poll { began, found }
    }

    /// Logs why the next store cannot be opened. Skips a repeated line, and a line soon after another line.
    fn warn(&mut self, reason: String) {
        let is_new = self
            .warning
            .as_ref()
            .is_none_or(|(logged, at)| *logged != reason && at.elapsed() >= LOG_INTERVAL);
        if is_new {
            tracing::warn!(reason, "the next store cannot be opened yet");
            self.warning = Some((reason, Instant::now()));
        }
    }
}

/// Returns the result of the polls while the store with the state `now` is not open, and the other store has not taken
/// its place. The error has the reason for which neither store can be used, and the label of the store to use.
fn unopened(
    now: &StoreState,
    other: Option<&StoreState>,
    is_read: bool,
    is_young: bool,
) -> Result<Found, (String, String)> {
    let (to, label) = match &now.phase {
        Phase::Sealed { to, label } => (*to, label.as_str()),
        Phase::Filling { from } => (*from, "another store"),
        Phase::Open { .. } => return Ok(Found::Open),
    };
    let refused =
        |phase: &Phase, label: &str| Err((phase.refusal().unwrap_or_default(), label.to_owned()));
    match other {
        Some(other) if other.id == to => match &other.phase {
            _ if !is_read => Ok(Found::Unknown),
            // If the other store is open, its server lost its last changes.
            Phase::Open { .. } => Ok(Found::Sealed),
            Phase::Filling { from } if *from == now.id => Ok(Found::Sealed),
            Phase::Sealed { to: third, label } if *third != now.id => refused(&other.phase, label),
            // This occurs for a moment while a handover is canceled.
            _ if is_young => Ok(Found::Unknown),
            Phase::Filling { .. } | Phase::Sealed { .. } => refused(&now.phase, label),
        },
        None if is_young => Ok(Found::Unknown),
        _ => refused(&now.phase, label),
    }
}

/// Returns whether a service that uses `current` must switch to `other`.
pub(crate) fn takes_over(other: &StoreState, current: &StoreState) -> bool {
    // A store that is being filled cannot be used, and holds no row that `other` lacks.
    let is_filled = current.phase == Phase::Filling { from: other.id } && other.phase.is_open();
    other.is_successor_of(current) || is_filled
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::View;

    /// A next store may be missing for days.
    #[tokio::test(start_paused = true)]
    async fn a_warning_is_not_repeated_and_another_follows_after_ten_seconds() {
        let (mut view, began) = (View::default(), Instant::now());
        for (second, reason, last) in [
            (0, "missing", ("missing", 0)),
            (100, "missing", ("missing", 0)),
            (101, "refused", ("refused", 101)),
            (110, "missing", ("refused", 101)),
            (111, "missing", ("missing", 111)),
        ] {
            advance(Duration::from_secs(second).saturating_sub(began.elapsed())).await;
            view.warn(reason.to_owned());
            let (warning, at) = view.warning.as_ref().unwrap();
            assert_eq!((warning.as_str(), (*at - began).as_secs()), last, "second {second}");
        }
    }
}
