//! The store of a service, over the one or two stores of a move.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{Relocation, Role, StoreError};
use tokio::{sync::Mutex, time};

use crate::{
    current_route::CurrentRoute,
    decision::{Decision, Place},
    peer::Peer,
    route::{Route, State},
    shadow::Shadow,
    side::{OpenSide, Side},
    steps::{Rows, Steps},
};

/// How long a call waits for the decision which store takes it.
const DECISION_TIMEOUT: Duration = Duration::from_secs(8);
/// How often it asks.
const DECISION_POLL: Duration = Duration::from_millis(10);
/// How often the rows are read in one [`RelocatingStore::refresh`]. Rows that another party changes meanwhile need
/// a second round, and more only where something is wrong.
const MAX_ROUNDS: u32 = 8;

/// The storage ports over the store that a service was started with and, while that is being moved, the
/// other one.
///
/// **What it costs** where no move is on. A read of animals: the load of a flag, and the boxed future of one more
/// call. Every other call: a read lock, a boxed future, and a clone of what is passed, as the call may have to be
/// repeated.
pub struct RelocatingStore {
    pub(crate) own: Side,
    pub(crate) current: CurrentRoute,
    pub(crate) shadow: Shadow,
    /// Locked by whoever finds out about the route.
    move_state: Mutex<MoveState>,
}

struct MoveState {
    peer: Peer,
    steps: Steps,
}

impl RelocatingStore {
    /// Over the store `own`, which may be in a move.
    ///
    /// # Errors
    /// It was moved to another store, or the store that decides in its place cannot be opened, or the two do not
    /// agree which of them decides.
    pub async fn start(own: Side, opener: Arc<dyn OpenSide>) -> Result<Arc<Self>, StoreError> {
        if let Some(row) = own.relocation.relocation().await?
            && row.role == Role::Moved
        {
            let peer = row.peer;
            return Err(StoreError::sealed(format_args!(
                "this store was moved to {peer}; use --store {peer}"
            )));
        }
        let current = CurrentRoute::new(Route::alone(own.clone()));
        let state = MoveState { peer: Peer::new(opener), steps: Steps::default() };
        let store = Self { own, current, shadow: Shadow::default(), move_state: Mutex::new(state) };
        store.refresh().await?;
        Ok(Arc::new(store))
    }

    /// After a call on `route` was refused: finds out which store takes it. `false` if that took too long.
    pub(crate) async fn find_decision(&self, route: &Route, since: Instant) -> bool {
        self.try_refresh().await;
        if route.place == self.current.get().place {
            time::sleep(DECISION_POLL).await;
        }
        since.elapsed() < DECISION_TIMEOUT
    }

    /// The same as [`Self::refresh`] for a caller that tries again later.
    pub(crate) async fn try_refresh(&self) {
        if let Err(error) = self.refresh().await {
            tracing::debug!(%error, "the route of a move is not known");
        }
    }

    /// Reads the rows, completes or undoes a flip that was left half done, and takes the route that they say.
    ///
    /// # Errors
    /// A store that is needed does not answer, or the two do not agree. The route stays.
    async fn refresh(&self) -> Result<(), StoreError> {
        let mut state = self.move_state.lock().await;
        for _ in 0..MAX_ROUNDS {
            if let Some(route) = self.find_route(&mut state).await? {
                self.current.set(route);
                return Ok(());
            }
        }
        Err(StoreError::unavailable("the two stores do not agree which of them decides"))
    }

    /// The route that the rows say; `None` if they have changed meanwhile, or the two do not agree.
    async fn find_route(&self, state: &mut MoveState) -> Result<Option<Route>, StoreError> {
        let own = || self.own.clone();
        let row = match self.own.relocation.relocation().await {
            Ok(row) => row,
            Err(error) => {
                return self.find_route_without_own(&state.peer).await.map(Some).ok_or(error);
            }
        };
        let Some(row) = row else {
            state.peer.forget();
            return Ok(Some(Route::alone(own())));
        };
        match row.role {
            Role::Deciding => {
                let standby = state.peer.try_open(&row.peer).await;
                Ok(Some(Route::moving(own(), Place::Own, standby)))
            }
            // The other store may be out of reach. It is not needed to undo this.
            Role::Draining => {
                let decision = Some(Decision::Drains(Place::Own));
                let rows = Rows { own: Some(row), other: None, decision };
                let is_undone = state.steps.help(&rows, &self.own).await?;
                Ok((!is_undone).then(|| Route::moving(own(), Place::Own, state.peer.get())))
            }
            Role::Standby => self.find_route_as_standby(state, &row).await,
            // Its row names the other store without a password.
            Role::Moved => {
                let other = state.peer.get().ok_or_else(|| {
                    StoreError::unavailable("this store was moved while the other one was not open")
                })?;
                Ok(Some(Route::over(other)))
            }
        }
    }

    /// The route while the own store does not answer. That the other one decides is enough: then the own one
    /// does not.
    async fn find_route_without_own(&self, peer: &Peer) -> Option<Route> {
        let other = peer.get()?;
        let row = other.relocation.relocation().await.ok()??;
        let standby = Some(self.own.clone());
        (row.role == Role::Deciding).then(|| Route::moving(other, Place::Other, standby))
    }

    async fn find_route_as_standby(
        &self,
        MoveState { peer, steps }: &mut MoveState,
        row: &Relocation,
    ) -> Result<Option<Route>, StoreError> {
        let other = peer.open(&row.peer).await?;
        let rows = Rows::read(&self.own, &other).await?;
        let Some(decision) = rows.decision else { return Ok(None) };
        match decision {
            Decision::Decides(Place::Other) | Decision::Drains(Place::Other) => {
                let is_undone = steps.help(&rows, &other).await?;
                let standby = Some(self.own.clone());
                Ok((!is_undone).then(|| Route::moving(other, Place::Other, standby)))
            }
            Decision::Opens(place) => {
                let side = if place == Place::Own { &self.own } else { &other };
                steps.help(&rows, side).await?;
                Ok(None)
            }
            Decision::Over(Place::Own) => Ok(Some(Route::alone(self.own.clone()))),
            // The own row has changed between the readings.
            Decision::NoMove
            | Decision::Over(Place::Other)
            | Decision::Decides(Place::Own)
            | Decision::Drains(Place::Own) => Ok(None),
        }
    }

    /// Notes up to which animal the standby is complete.
    pub(crate) async fn note_horizon(&self) {
        let route = self.current.get();
        if route.state == State::Moving
            && let Some(standby) = &route.standby
            && let Ok(horizon) = standby.relocation.horizon().await
        {
            self.current.set_horizon(route.place, horizon);
        }
    }
}

impl fmt::Debug for RelocatingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelocatingStore").finish_non_exhaustive()
    }
}
