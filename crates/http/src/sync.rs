//! What threads share state by. In the tests of schedules it is shuttle's: `schedules.rs`.

#[cfg(test)]
#[cfg(feature = "schedules")]
pub(crate) mod schedules;

#[cfg(test)]
#[cfg(feature = "schedules")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) use std::sync::{Mutex, MutexGuard};
