//! The kinds of stores that a catalogue is moved between. The one place that says which there are.

use super::commands;
use crate::support::store::Store;

const KINDS: [fn() -> Option<Store>; 2] = [|| Some(Store::sqlite()), Store::postgres];

/// A new and empty store of each kind, which is there.
pub(crate) fn each() -> impl Iterator<Item = Store> {
    KINDS.into_iter().filter_map(|new| new()).inspect(commands::make)
}

/// Two new and empty stores, of each kind to each kind, which are there.
pub(crate) fn pairs() -> impl Iterator<Item = (Store, Store)> {
    let pairs = KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to)));
    pairs.filter_map(|(from, to)| from().zip(to())).inspect(|(from, to)| {
        commands::make(from);
        commands::make(to);
    })
}
