//! The kinds of stores that a catalogue is moved between. The one place that says which there are.

use std::ops::Deref;

use petstore_testing::{Database, postgres_or_skip};

use crate::support::store::Store;

#[derive(Clone, Copy)]
enum Kind {
    Sqlite,
    Postgres,
}

const KINDS: [Kind; 2] = [Kind::Sqlite, Kind::Postgres];

/// A store that was new and empty when it was handed out.
pub(crate) struct Place {
    store: Store,
    /// Dropped with the place.
    _database: Option<Database>,
}

impl Kind {
    fn fresh(self) -> Option<Place> {
        match self {
            Self::Sqlite => Some(Place { store: Store::sqlite(), _database: None }),
            Self::Postgres => {
                let database = postgres_or_skip("moving a store")?;
                Some(Place { store: Store::at(&database.url), _database: Some(database) })
            }
        }
    }
}

impl Deref for Place {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// A fresh store of each kind.
pub(crate) fn each() -> impl Iterator<Item = Place> {
    KINDS.into_iter().filter_map(Kind::fresh)
}

/// Two fresh stores, of each kind to each kind.
pub(crate) fn pairs() -> impl Iterator<Item = (Place, Place)> {
    let pairs = KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to)));
    pairs.filter_map(|(from, to)| from.fresh().zip(to.fresh()))
}
