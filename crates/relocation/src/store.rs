//! The store of a service, over the one or two stores of a move.

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{Relocation, Role, StoreError};
use tokio::{sync::Mutex, time};

use crate::{
    decision::{Decision, Place},
    route::{Route, State},
    shadow::Shadow,
    side::{OpenSide, Side},
    steps::{Rows, Steps},
};

/// How long a write waits for the decision which store takes it.
pub(crate) const WRITE_WAIT: Duration = Duration::from_secs(8);
/// How often it asks.
const WRITE_POLL: Duration = Duration::from_millis(10);
/// How often opening the other store is tried while nothing needs it.
const OPEN_INTERVAL: Duration = Duration::from_secs(1);

/// The storage ports over the store that a service was started with and, while that is being moved, the
/// other one.
///
/// **What it costs** where no move is on: one load of a flag and one allocation for each call.
pub struct RelocatingStore {
    pub(crate) own: Side,
    opener: Arc<dyn OpenSide>,
    /// Whether the route is the own store alone, as it nearly always is.
    alone: AtomicBool,
    route: RwLock<Arc<Route>>,
    looking: Mutex<Looking>,
    pub(crate) shadow: Shadow,
}

#[derive(Default)]
struct Looking {
    steps: Steps,
    other: Option<Side>,
    tried_to_open: Option<Instant>,
}

impl RelocatingStore {
    /// Over the store `own`, which may be in a move.
    ///
    /// # Errors
    /// It was moved to another store, or the store that decides in its place cannot be opened.
    pub async fn start(own: Side, opener: Arc<dyn OpenSide>) -> Result<Arc<Self>, StoreError> {
        let route = RwLock::new(Arc::new(Route::alone(own.clone())));
        let looking = Mutex::default();
        let (alone, shadow) = (AtomicBool::new(true), Shadow::default());
        let store = Self { own, opener, alone, route, looking, shadow };
        if let Some(row) = store.own.relocation.relocation().await?
            && row.role == Role::Moved
        {
            let peer = row.peer;
            return Err(StoreError::fenced(format_args!(
                "this store was moved to {peer}; use --store {peer}"
            )));
        }
        store.look().await?;
        Ok(Arc::new(store))
    }

    /// The store that decides, as far as is known.
    pub(crate) fn route(&self) -> Arc<Route> {
        Arc::clone(&self.route.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Acquire)
    }

    /// After a write on `route` was refused: finds out which store takes it. `false` if that took too long.
    pub(crate) async fn find_decision(&self, route: &Arc<Route>, since: Instant) -> bool {
        if let Err(error) = self.look().await {
            tracing::debug!(%error, "the stores of a move do not both answer");
        }
        if route.place == self.route().place {
            time::sleep(WRITE_POLL).await;
        }
        since.elapsed() < WRITE_WAIT
    }

    /// Whether the store of `route` still decided after a read from it, so that the read has missed nothing
    /// that was acknowledged before it.
    pub(crate) async fn still_decides(&self, route: &Route) -> Result<bool, StoreError> {
        if route.state != State::Moving {
            return Ok(true);
        }
        let row = route.side.relocation.relocation().await?;
        Ok(row.is_none_or(|row| row.role.is_read()))
    }

    /// Reads the rows, helps on what was left half done, and takes the route that they say.
    pub(crate) async fn look(&self) -> Result<(), StoreError> {
        let mut looking = self.looking.lock().await;
        loop {
            let Some(row) = self.own.relocation.relocation().await? else {
                looking.other = None;
                self.take(Route::alone(self.own.clone()));
                return Ok(());
            };
            match row.role {
                Role::Moved => {
                    if let Some(other) = looking.other.clone() {
                        self.go(Place::Other, &other, State::Over);
                    }
                    return Ok(());
                }
                Role::Deciding => {
                    let other = self.try_to_open(&mut looking, &row).await;
                    self.go_own(other, State::Moving);
                    return Ok(());
                }
                Role::Draining | Role::Standby => {
                    if self.decide(&mut looking, &row).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes the route that both rows say; `false` if they have changed.
    async fn decide(&self, looking: &mut Looking, row: &Relocation) -> Result<bool, StoreError> {
        if row.role == Role::Draining {
            // The other store may be out of reach: then it is only undone.
            self.go_own(looking.other.clone(), State::Moving);
            let decision = Some(Decision::Drains(Place::Own));
            let rows = Rows { own: Some(row.clone()), other: None, decision };
            return Ok(!looking.steps.help(&rows, &self.own).await?);
        }
        let other = self.open(looking, row).await?;
        let rows = Rows::read(&self.own, &other).await?;
        let Some(decision) = rows.decision else { return Ok(false) };
        match decision {
            Decision::Decides(Place::Other) | Decision::Drains(Place::Other) => {
                self.go(Place::Other, &other, State::Moving);
                Ok(!looking.steps.help(&rows, &other).await?)
            }
            Decision::Opens(place) => {
                let side = if place == Place::Own { &self.own } else { &other };
                looking.steps.help(&rows, side).await?;
                Ok(false)
            }
            Decision::Over(Place::Own) => {
                self.take(Route::alone(self.own.clone()));
                Ok(true)
            }
            // The own row has changed between the readings.
            Decision::NoMove
            | Decision::Over(Place::Other)
            | Decision::Decides(Place::Own)
            | Decision::Drains(Place::Own) => Ok(false),
        }
    }

    async fn open(&self, looking: &mut Looking, row: &Relocation) -> Result<Side, StoreError> {
        if let Some(other) = &looking.other {
            return Ok(other.clone());
        }
        looking.tried_to_open = Some(Instant::now());
        let other = self.opener.open(&row.peer).await?;
        let peer = self.opener.shown(&row.peer);
        tracing::info!(store = peer, "this store is being moved; the other one is open");
        looking.other = Some(other.clone());
        Ok(other)
    }

    /// The other store while nothing needs it.
    async fn try_to_open(&self, looking: &mut Looking, row: &Relocation) -> Option<Side> {
        let is_early = looking.tried_to_open.is_some_and(|tried| tried.elapsed() < OPEN_INTERVAL);
        if looking.other.is_none() && is_early {
            return None;
        }
        self.open(looking, row).await.ok()
    }

    fn go_own(&self, other: Option<Side>, state: State) {
        let horizon = self.route().horizon.filter(|_| self.route().place == Place::Own);
        let route = Route { other, state, horizon, ..Route::alone(self.own.clone()) };
        self.take(Route { place: Place::Own, ..route });
    }

    fn go(&self, place: Place, other: &Side, state: State) {
        let horizon = self.route().horizon.filter(|_| self.route().place == place);
        let (side, own) = (other.clone(), Some(self.own.clone()));
        self.take(Route { side, place, other: own, state, since: None, horizon });
    }

    fn take(&self, mut route: Route) {
        let mut current = self.route.write().unwrap_or_else(PoisonError::into_inner);
        if current.place == route.place {
            route.since = current.since;
        } else {
            route.since = Some(Instant::now());
            tracing::info!(own = route.place == Place::Own, "another store decides now");
        }
        self.alone.store(route.state == State::Alone, Ordering::Release);
        *current = Arc::new(route);
    }

    /// Notes up to which animal the standby is complete.
    pub(crate) async fn note_horizon(&self) {
        let route = self.route();
        let Some(other) = route.other.as_ref().filter(|_| route.state == State::Moving) else {
            return;
        };
        let Ok(horizon) = other.relocation.horizon().await else { return };
        let mut current = self.route.write().unwrap_or_else(PoisonError::into_inner);
        if current.place == route.place {
            *current = Arc::new(Route { horizon, ..Route::clone(&current) });
        }
    }
}

impl fmt::Debug for RelocatingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelocatingStore").finish_non_exhaustive()
    }
}
