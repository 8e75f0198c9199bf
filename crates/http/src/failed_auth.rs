//! The limit on requests without a good key.
//!
//! **What.** Each address that requests come from, and each user of a Unix socket, may fail so often a second. A failure over that waits
//! for its turn, [`MAX_DELAY`] at most; one that would wait longer is answered 429 after that time. This
//! holds while requests with a good key are served: they are what the limit protects. No request
//! with a good key is ever limited here.
//!
//! **What it buys.** Clients that send unknown keys in a loop do not take the processors from those that
//! have a key. See `docs/OPERATING.md` for the figure.
//!
//! **What it costs.** A reading of the clock for each request with a good key.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

use crate::{rate_limit::RateLimit, request::Peer, response::error::ApiError};

/// The longest wait of a failure for its answer.
const MAX_DELAY: Duration = Duration::from_millis(100);
/// Failures that wait at a time; one more is answered 429 at once.
const MAX_DELAYED: usize = 4096;
/// So long after a request with a good key, such requests count as being served.
const SERVING: Duration = Duration::from_secs(1);

/// Where a request comes from, as far as one client cannot choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An IPv4 address, or the first 64 bits of an IPv6 address.
    Address(IpAddr),
    /// The user of this machine who has connected to a Unix socket; `None` if the system does not say.
    User(Option<u32>),
}

impl From<Peer> for Source {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Tcp(address) => Self::Address(match address.ip() {
                IpAddr::V6(address) => {
                    let [a, b, c, d, ..] = address.segments();
                    Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
                }
                address @ IpAddr::V4(_) => address,
            }),
            Peer::Unix(user) => Self::User(user),
        }
    }
}

/// Delays and refuses requests without a good key.
#[derive(Debug)]
pub(crate) struct FailedAuthLimit {
    /// `None` if they are not limited.
    rate: Option<RateLimit<Source>>,
    delayed: Semaphore,
    began: Instant,
    /// Milliseconds from `began` until the time until which requests with a good key count as served.
    serving_until: AtomicU64,
}

impl FailedAuthLimit {
    /// So many failures a second for each address; any number if `None`.
    pub(crate) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self {
            rate: per_second.map(RateLimit::new),
            delayed: Semaphore::new(MAX_DELAYED),
            began: Instant::now(),
            serving_until: AtomicU64::new(0),
        }
    }

    /// A request with a good key is served.
    pub(crate) fn note_success(&self) {
        if self.rate.is_none() {
            return;
        }
        let until = self.now() + millis(SERVING);
        // Written only now and then, as all threads share it.
        if until > self.serving_until.load(Ordering::Relaxed) + millis(SERVING) / 10 {
            self.serving_until.store(until, Ordering::Relaxed);
        }
    }

    /// Waits as long as a request from `source` that has no good key must.
    ///
    /// # Errors
    /// 429 if it is over the limit.
    pub(crate) async fn wait(&self, source: Source) -> Result<(), ApiError> {
        let Some(rate) = &self.rate else { return Ok(()) };
        if self.now() >= self.serving_until.load(Ordering::Relaxed) {
            return Ok(());
        }
        let turn = rate.take(source, MAX_DELAY);
        if turn == Some(Duration::ZERO) {
            return Ok(());
        }
        let _place = self.delayed.try_acquire().map_err(|_| ApiError::rate_limited())?;
        sleep(turn.unwrap_or(MAX_DELAY)).await;
        turn.map(|_| ()).ok_or_else(ApiError::rate_limited)
    }

    fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
