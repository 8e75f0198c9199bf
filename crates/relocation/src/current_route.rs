//! The route that a service takes now.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use petstore_domain::PetId;

use crate::{
    decision::Place,
    route::{Route, State},
};

/// The [`Route`] of this moment.
pub(crate) struct CurrentRoute {
    /// Whether the route is the own store alone, as it nearly always is. Reads then need nothing else.
    alone: AtomicBool,
    route: RwLock<Arc<Route>>,
}

impl CurrentRoute {
    pub(crate) fn new(route: Route) -> Self {
        let alone = AtomicBool::new(route.state == State::Alone);
        Self { alone, route: RwLock::new(Arc::new(route)) }
    }

    pub(crate) fn get(&self) -> Arc<Route> {
        Arc::clone(&self.route.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Acquire)
    }

    /// Takes another route. What is known of the store that decides stays known while it decides.
    pub(crate) fn set(&self, mut route: Route) {
        let mut current = self.route.write().unwrap_or_else(PoisonError::into_inner);
        if current.place == route.place {
            route.since = current.since;
        } else {
            route.since = Some(Instant::now());
            tracing::info!(own = route.place == Place::Own, "another store decides now");
        }
        if (current.place, current.state) == (route.place, State::Moving) {
            route.horizon = current.horizon;
        }
        self.alone.store(route.state == State::Alone, Ordering::Release);
        *current = Arc::new(route);
    }

    /// Notes up to which animal the standby is complete while the store at `place` decides.
    pub(crate) fn set_horizon(&self, place: Place, horizon: Option<PetId>) {
        let mut current = self.route.write().unwrap_or_else(PoisonError::into_inner);
        if current.place == place {
            *current = Arc::new(Route { horizon, ..Route::clone(&current) });
        }
    }
}
