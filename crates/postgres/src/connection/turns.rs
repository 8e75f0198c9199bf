//! One statement at a time, for a pooler that does not take the next one before it has answered the last.
//!
//! What this crate sends at once it sends as separate calls, in their order, so it is enough that each
//! call waits for its turn. It costs a round trip for each statement instead of one for a group.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// Whose turn it is. The lock is fair: turns come in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Turns {
    turn: Mutex<()>,
    /// Whether a call has begun and has not ended.
    in_flight: AtomicBool,
}

/// A call's turn. Dropping it before [`end`](Self::end) leaves an answer on its way.
pub(super) struct Turn<'a> {
    in_flight: &'a AtomicBool,
    _lock: MutexGuard<'a, ()>,
}

impl Turns {
    pub(super) async fn begin(&self) -> Turn<'_> {
        let lock = self.turn.lock().await;
        self.in_flight.store(true, Ordering::Release);
        Turn { in_flight: &self.in_flight, _lock: lock }
    }

    /// Whether the answer to a call is still to come although its caller has gone away.
    pub(super) fn is_interrupted(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) && self.turn.try_lock().is_ok()
    }
}

impl Turn<'_> {
    pub(super) fn end(self) {
        self.in_flight.store(false, Ordering::Release);
    }
}
