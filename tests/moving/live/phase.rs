//! The phases of a move, and movers that are stopped in one of them.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::commands::spawn;
use crate::support::{
    command::{Running, signal},
    store::Store,
    wait,
};

/// A phase of a move, from the states of its two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The mover has not claimed the new store.
    Begun,
    /// The new store is being filled.
    Filling,
    /// The old store is sealed, and the new store is not open: writes wait.
    Sealed,
    /// The new store is open.
    Done,
}

impl Phase {
    /// The phases in which a mover has something left to do.
    pub(super) const UNDER_WAY: [Self; 3] = [Self::Begun, Self::Filling, Self::Sealed];

    pub(super) fn of(from: &Store, to: &Store) -> Self {
        match (from.state().as_deref(), to.state().as_deref()) {
            (Some("sealed"), Some("open")) => Self::Done,
            (Some("sealed"), Some("filling")) => Self::Sealed,
            (Some("open"), Some("filling")) => Self::Filling,
            // The new store is sealed after a canceled move, and before the way back.
            (Some("open"), None | Some("open" | "sealed")) => Self::Begun,
            states => panic!("no phase of a move has {states:?}"),
        }
    }
}

/// The pause between two reads of the states. A phase may last only about 20 ms.
const PAUSE: Duration = Duration::from_millis(2);

/// Starts a mover and stops it by `SIGSTOP` in the phase `wanted`, or in a later phase if the mover is faster. Returns
/// the mover and its phase. The mover runs during reads of the states; otherwise it could not catch up with additions.
#[track_caller]
pub(super) fn stand_still_in(wanted: Phase, from: &Store, to: &Store) -> (Running, Phase) {
    let (mut mover, start) = (spawn(from, to), Instant::now());
    let is_there = || match wanted {
        Phase::Begun => true,
        Phase::Filling => to.state().is_some_and(|state| state == "filling"),
        Phase::Sealed | Phase::Done => from.state().is_some_and(|state| state == "sealed"),
    };
    while !is_there() && mover.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < wait::LIMIT, "the mover does not come to {wanted:?}");
        thread::sleep(PAUSE);
    }
    if mover.try_wait().unwrap().is_none() {
        signal(&mover, "STOP");
    }
    let phase = Phase::of(from, to);
    (mover, phase)
}

/// Moves a store there and back until movers have been interrupted in each phase.
///
/// - `interrupt` gets a stopped mover, its phase, and the old and the new store.
/// - `complete` completes the move afterwards. `complete` gets both stores too.
#[track_caller]
pub(super) fn in_each_phase<'a>(
    stores: [&'a Store; 2],
    mut interrupt: impl FnMut(Running, Phase, [&'a Store; 2]),
    mut complete: impl FnMut([&'a Store; 2]),
) {
    const MOST_ROUNDS: usize = 8;
    let (mut met, [mut from, mut to]) = (Vec::new(), stores);
    for round in 1..=MOST_ROUNDS {
        for wanted in Phase::UNDER_WAY {
            let (mover, phase) = stand_still_in(wanted, from, to);
            met.push(phase);
            interrupt(mover, phase, [from, to]);
        }
        complete([from, to]);
        if round > 1 && Phase::UNDER_WAY.iter().all(|phase| met.contains(phase)) {
            return;
        }
        (from, to) = (to, from);
    }
    panic!("movers were not stopped in every phase, only in {met:?}");
}
