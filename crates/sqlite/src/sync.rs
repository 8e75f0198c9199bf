//! What threads share state and wait by. In the tests of schedules it is shuttle's, with a clock of its own:
//! `schedules.rs`.

#[cfg(test)]
#[cfg(feature = "schedules")]
pub(crate) mod schedules;
#[cfg(test)]
#[cfg(feature = "schedules")]
mod simulated;

#[cfg(test)]
#[cfg(feature = "schedules")]
pub(crate) use self::simulated::{
    Instant, Mutex, MutexGuard, RwLock, atomic, let_timeouts_end, recv_many, thread,
};
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) use self::system::{Instant, Mutex, MutexGuard, RwLock, atomic, recv_many, thread};

#[cfg(not(all(test, feature = "schedules")))]
mod system {
    pub(crate) use std::{
        sync::{Mutex, MutexGuard, RwLock, atomic},
        thread,
        time::Instant,
    };

    use tokio::sync::mpsc;

    /// Waits until something is queued, and puts up to `max` of it into `buffer`: 0 when the queue is
    /// closed and empty.
    pub(crate) fn recv_many<T>(
        queue: &mut mpsc::Receiver<T>,
        buffer: &mut Vec<T>,
        max: usize,
    ) -> usize {
        queue.blocking_recv_many(buffer, max)
    }
}
