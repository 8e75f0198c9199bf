//! Requests without a good key are refused late.
//!
//! **What.** A refusal waits: 100 ms at least, and until the key was judged again by keys that were read after
//! the request came. So a new key works at its first use, and a client that tries keys is slow.
//!
//! **What it costs.** A place for each that waits; one more is refused at once, by 429 and the end of its
//! connection.

use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{connection::ending::Drain, response::error::ApiError, settings::Limits};

/// The limit of the refusals that wait, where there are connections enough.
const MAX_WAITING: usize = 4096;

/// The refusals that wait.
#[derive(Debug)]
pub(crate) struct LateRefusals {
    places: Semaphore,
    limits: Limits,
}

impl LateRefusals {
    /// No more wait than a quarter of the connections.
    pub(crate) fn new(limits: Limits) -> Self {
        let places = (limits.max_connections.get() / 4).clamp(1, MAX_WAITING);
        Self { places: Semaphore::new(places), limits }
    }

    /// Returns what `again` comes to, but not before the delay. When `drain` begins, or the time for the
    /// request runs out, it is `refusal`.
    ///
    /// # Errors
    /// What `again` or `refusal` is; 429 if there is no place.
    pub(crate) async fn wait<T>(
        &self,
        drain: &Drain,
        refusal: &ApiError,
        again: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let _place = self.places.try_acquire().map_err(|_| ApiError::too_many_refusals())?;
        let late = async { tokio::join!(again, sleep(self.limits.refusal_delay)).0 };
        // Before the time for the request as a whole is over, which would be 503.
        let time = self.limits.request_timeout * 9 / 10;
        tokio::select! {
            outcome = timeout(time, late) => outcome.unwrap_or_else(|_| Err(refusal.clone())),
            () = drain.begun() => Err(refusal.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
