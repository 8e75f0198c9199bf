//! Which of two stores a service uses.

use petstore_domain::{Phase, StoreState};

/// Returns whether a service whose current store is `current` uses `other` from now on.
pub(crate) fn takes_over(other: &StoreState, current: &StoreState) -> bool {
    // A store that is filled from the other one is no better than that.
    let is_filled = current.phase == Phase::Filling { from: other.id } && other.phase.is_open();
    other.is_successor_of(current) || is_filled
}
