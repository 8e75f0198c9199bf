//! Which store a service reads from and writes to.

use std::time::{Duration, Instant};

use petstore_domain::{CatalogueVersion, PetId, StoreError};

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
    pub(crate) state: State,
    /// The standby, if it is open.
    pub(crate) standby: Option<Side>,
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
    /// To the service's own store, which is in no move.
    pub(crate) fn alone(own: Side) -> Self {
        Self {
            side: own,
            place: Place::Own,
            state: State::Alone,
            standby: None,
            since: None,
            horizon: None,
        }
    }

    /// To the store at `place`, which decides in a move.
    pub(crate) fn moving(side: Side, place: Place, standby: Option<Side>) -> Self {
        Self { place, state: State::Moving, standby, ..Self::alone(side) }
    }

    /// To the other store, which decides for good.
    pub(crate) fn over(other: Side) -> Self {
        Self { place: Place::Other, state: State::Over, ..Self::alone(other) }
    }

    /// Whether this store still decides. Asked after a read: then the read has missed nothing that was
    /// acknowledged before it.
    pub(crate) async fn still_decides(&self) -> Result<bool, StoreError> {
        if self.state != State::Moving {
            return Ok(true);
        }
        let row = self.side.relocation.relocation().await?;
        Ok(row.is_none_or(|row| row.role.is_read()))
    }

    /// The version of the store that decides.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        if self.since.is_some_and(|since| since.elapsed() < VERSION_PAUSE) {
            return None;
        }
        self.side.pets.version()
    }
}
