//! Which store a service reads from and writes to.

use std::time::{Duration, Instant};

use petstore_domain::{CatalogueVersion, PetId};

use crate::{decision::Place, side::Side};

/// After a flip no version is given for so long: the cache of the other store may be as old as the port
/// allows, and its state then was not the one that is decided upon.
const VERSION_PAUSE: Duration = Duration::from_millis(200);

/// Which store decides, as far as this service knows.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The store that decides.
    pub(crate) side: Side,
    pub(crate) place: Place,
    /// The other one, if it is open.
    pub(crate) other: Option<Side>,
    pub(crate) state: State,
    /// When this store was found to decide; `None` if it has since the start.
    pub(crate) since: Option<Instant>,
    /// The standby holds every animal up to this one.
    pub(crate) horizon: Option<PetId>,
}

/// Where the move stands, as far as a service must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Alone,
    /// The other store may decide at any moment.
    Moving,
    /// It is finished.
    Over,
}

impl Route {
    /// To a store that is in no move.
    pub(crate) fn alone(side: Side) -> Self {
        let (place, state) = (Place::Own, State::Alone);
        Self { side, place, other: None, state, since: None, horizon: None }
    }

    /// The version of the store that decides.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        if self.since.is_some_and(|since| since.elapsed() < VERSION_PAUSE) {
            return None;
        }
        self.side.pets.version()
    }
}
