//! The task that polls two stores, and selects the store that a service uses. A store that hangs does not delay the
//! polls of the other store.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{Handover, Phase, StoreError, StoreState};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::{CurrentStore, Found, Ports, View};
use crate::store_ports::{StorePorts, within};

/// The interval of polls while the current store is not open.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);
/// The interval of polls while the current store is open, for the metric that shows whether the next store can be
/// reached. A call that waits for a poll wakes the poller at once.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit of reading a state, and of opening the next store.
const READ_LIMIT: Duration = Duration::from_secs(1);
/// The interval of attempts to open the next store.
const OPEN_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest interval between two warnings.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The time after the seal for which a missing next store may still appear, and the states may still change.
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
    /// The start of the last poll that read the state, and the state.
    last: Option<(Instant, StoreState)>,
    /// `true` if the last poll read the state.
    pub(super) is_read: bool,
}

impl Store {
    fn new(side: StorePorts, last: Option<(Instant, StoreState)>) -> Self {
        let ports = Arc::new(Ports { pets: side.pets.clone(), keys: side.keys.clone() });
        Self { ports, side, last, is_read: false }
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
        let last = (Instant::now(), first.handover.state().await?);
        let stores = [Some(Store::new(first, Some(last))), None];
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
            self.poll(place).await;
            let is_there = self.handover(place).is_some();
            sleep(if is_there { WAIT_INTERVAL } else { OPEN_INTERVAL }).await;
            let is_open = self.current.view.borrow().found == Some(Found::Open);
            if is_open {
                let _ = timeout(POLL_INTERVAL, self.current.wake[place].notified()).await;
            } else {
                self.current.wake.iter().for_each(Notify::notify_one);
            }
        }
    }

    /// Reads the state of the store at `place`, and publishes the result. Opens the store first if it is not open yet.
    async fn poll(&self, place: usize) {
        let view = &self.current.view;
        if self.handover(place).is_none() {
            let opened = within(READ_LIMIT, self.opener.open()).await;
            view.send_modify(|view| match opened {
                Ok(side) => view.stores[place] = Some(Store::new(side, None)),
                Err(StoreError::Unavailable(cause)) => view.warn(cause.to_string()),
                Err(error) => view.warn(error.to_string()),
            });
        }
        let Some(handover) = self.handover(place) else { return };
        let began = Instant::now();
        let state = within(READ_LIMIT, handover.state()).await.ok();
        view.send_modify(|view| {
            if let Some(store) = &mut view.stores[place] {
                store.is_read = state.is_some();
                store.last = state.map(|state| (began, state)).or(store.last.take());
            }
            view.update();
        });
    }

    fn handover(&self, place: usize) -> Option<Arc<dyn Handover>> {
        let view = self.current.view.borrow();
        view.stores[place].as_ref().map(|store| Arc::clone(&store.side.handover))
    }
}

impl View {
    /// Selects the current store from the last polls: the other store if it has taken the place of the current store.
    fn update(&mut self) {
        let mut pair = self
            .stores
            .each_ref()
            .map(|store| store.as_ref().and_then(|it| Some((it, it.last.as_ref()?))));
        if self.is_next {
            pair.reverse();
        }
        if let [Some((_, (_, now))), Some((other, (_, state)))] = &pair
            && takes_over(state, now)
        {
            let store = &other.side.label;
            tracing::info!(store, "the service has switched to the store that took over");
            self.is_next = !self.is_next;
            pair.reverse();
        }
        let [Some((current, (began, now))), other] = pair else { return };
        self.ports = Some(Arc::clone(&current.ports));
        // The other store does not matter while the current store is open, and it may hang.
        if now.phase.is_open() {
            self.sealed = None;
            (self.began, self.found) = (Some(*began), Some(Found::Open));
            return;
        }
        let since = self.sealed.get_or_insert_with(Instant::now);
        let is_young = since.elapsed() < MISSING_LIMIT;
        let (began, found) = match sealed(now, other.map(|(_, last)| last), is_young) {
            Ok(of_other) => (of_other.min(Some(*began)), Found::Sealed),
            Err((reason, label)) => {
                if !matches!(self.found, Some(Found::Elsewhere(_))) {
                    tracing::error!(
                        "the store {reason}, but the store of --next-store is not open in its place: restart this \
                         service with --store {label}"
                    );
                }
                (Some(*began), Found::Elsewhere(reason))
            }
        };
        (self.began, self.found) = (began, Some(found));
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

/// Returns the start of the last poll of the other store. Returns `None` if that store is missing, or if its state may
/// change within a moment. `now` is the state of the current store, which is not open and not replaced by the other
/// store. `other` has the start of the last poll of the other store, and the state that the poll has read.
///
/// # Errors
/// The reason why neither store can be used, and the label of the store to use.
fn sealed(
    now: &StoreState,
    other: Option<&(Instant, StoreState)>,
    is_young: bool,
) -> Result<Option<Instant>, (String, String)> {
    let (_, to, label) = now.phase.parts();
    let (phase, label) = match other {
        None if is_young => return Ok(None),
        Some((began, other)) if Some(other.id) == to => match &other.phase {
            // If the other store is open, its server lost its last changes.
            Phase::Open { .. } => return Ok(Some(*began)),
            Phase::Filling { from } if *from == now.id => return Ok(Some(*began)),
            Phase::Sealed { to: third, label } if *third != now.id => {
                (&other.phase, Some(&**label))
            }
            // This occurs for a moment while a handover is canceled.
            _ if is_young => return Ok(None),
            Phase::Filling { .. } | Phase::Sealed { .. } => (&now.phase, label),
        },
        _ => (&now.phase, label),
    };
    Err((phase.refusal().unwrap_or_default(), label.unwrap_or("another store").to_owned()))
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
