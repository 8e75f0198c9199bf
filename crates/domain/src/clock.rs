//! Driven port: the clock.

use crate::timestamp::Timestamp;

/// The wall clock.
///
/// # Contract
/// - `now` is the wall-clock time. It never fails and never blocks.
/// - The time may jump, also backwards. So a stored time may be later than `now`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Clock: Send + Sync {
    /// Returns the time now.
    fn now(&self) -> Timestamp;
}

/// A clock whose time only a test changes.
#[cfg(any(test, feature = "mocks"))]
#[derive(Debug)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

#[cfg(any(test, feature = "mocks"))]
impl ManualClock {
    /// Makes a clock with the time `now`.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self(std::sync::atomic::AtomicI64::new(now.0))
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, std::sync::atomic::Ordering::Relaxed);
    }

    /// Moves the time forwards by `step`.
    pub fn advance(&self, step: std::time::Duration) {
        self.set(self.now().plus(step));
    }
}

#[cfg(any(test, feature = "mocks"))]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(std::sync::atomic::Ordering::Relaxed))
    }
}
