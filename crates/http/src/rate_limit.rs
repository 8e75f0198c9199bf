//! A rate limit per key, such as an API key or the cause of a log line, by the generic cell rate algorithm. The
//! algorithm stores one instant for each key.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// The largest number of tracked keys, more than the 10,000 live API keys that a store may hold. At the limit, the keys
/// at rest are dropped, that is, keys whose next request is due. If fewer than half are at rest, all are dropped.
const MAX_TRACKED: usize = 16_384;
/// The usual burst after a rest: the requests or lines of this duration may come at once.
pub(crate) const BURST: Duration = Duration::from_secs(1);

/// The largest number of log lines per second of one kind, unless every request is logged. Without this limit, a
/// faulty client or a lost store could fill the disk.
const MAX_LINES_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// The burst of lines about one cause, at one line per second. With a burst, the log has the request ids of the first
/// failures.
const CAUSE_BURST: Duration = Duration::from_secs(10);

/// A rate limit for each key of type `K`.
#[derive(Debug)]
pub(crate) struct RateLimit<K> {
    interval: Duration,
    /// The time by which a request may come early.
    tolerance: Duration,
    /// The time at which each key's next request is due at a steady rate.
    next: Mutex<HashMap<K, Instant>>,
}

impl<K: Copy + Eq + Hash> RateLimit<K> {
    /// Creates a limit of `per_second` requests per second. After a rest of `burst`, the requests of that time may come
    /// at once.
    pub(crate) fn new(per_second: NonZeroU32, burst: Duration) -> Self {
        let interval = Duration::from_secs(1) / per_second.get();
        Self { interval, tolerance: burst.saturating_sub(interval), next: Mutex::default() }
    }

    /// Counts a request of `key` and returns `true`, or returns `false` if it exceeds the rate.
    pub(crate) fn try_acquire(&self, key: K) -> bool {
        let now = Instant::now();
        let mut all = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let next = all.get(&key).map_or(now, |next| now.max(*next));
        if next - now > self.tolerance {
            return false;
        }
        if all.len() >= MAX_TRACKED && !all.contains_key(&key) {
            // Drops the keys at rest. If many keys remain, drops all, because otherwise each new key would soon scan
            // the table again.
            all.retain(|_, next| *next > now);
            if all.len() > MAX_TRACKED / 2 {
                all.clear();
            }
        }
        all.insert(key, next + self.interval);
        true
    }
}

/// Bounds the log lines of one kind.
pub(crate) struct LineBudget {
    all: RateLimit<()>,
    /// The rate of each cause, by the hash of its text.
    causes: RateLimit<u64>,
    /// The number of omitted lines since the last written line.
    unwritten: AtomicU64,
}

impl LineBudget {
    /// Creates an unused budget.
    pub(crate) fn new() -> Self {
        let all = RateLimit::new(MAX_LINES_PER_SECOND, BURST);
        let causes = RateLimit::new(NonZeroU32::MIN, CAUSE_BURST);
        Self { all, causes, unwritten: AtomicU64::new(0) }
    }

    /// Takes one line. Returns the number of omitted lines since the last written line, or `None` if the budget of this
    /// kind or of `cause` is used up.
    pub(crate) fn take(&self, cause: Option<&str>) -> Option<u64> {
        let has_line = |cause: &str| self.causes.try_acquire(xxh3_64(cause.as_bytes()));
        if cause.is_none_or(has_line) && self.all.try_acquire(()) {
            return Some(self.unwritten.swap(0, Ordering::Relaxed));
        }
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use tokio::time::advance;

    use super::{BURST, MAX_TRACKED, RateLimit};

    fn limit(per_second: u32) -> RateLimit<u32> {
        RateLimit::new(NonZeroU32::new(per_second).unwrap(), BURST)
    }

    /// Returns how many requests of key 1 may come at once.
    fn at_once(limit: &RateLimit<u32>) -> usize {
        (0..10_000).take_while(|_| limit.try_acquire(1)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn the_requests_of_a_second_may_come_at_once_and_then_one_per_interval() {
        for rate in [1, 10, 1000] {
            let limit = limit(rate);
            assert_eq!(at_once(&limit), rate as usize);
            advance(Duration::from_secs(1) / rate).await;
            assert_eq!(at_once(&limit), 1, "{rate}");
            advance(Duration::from_hours(1)).await;
            assert_eq!(at_once(&limit), rate as usize);
            assert!(limit.try_acquire(2), "another key");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_tracked_keys_is_bounded() {
        let limit = limit(1);
        for key in 0..2 * u32::try_from(MAX_TRACKED).unwrap() {
            limit.try_acquire(key);
            assert!(limit.next.lock().unwrap().len() <= MAX_TRACKED);
        }
        // No key is at rest, so the first of these requests drops all.
        for key in (1..).take(MAX_TRACKED) {
            limit.try_acquire(key);
        }
        assert_eq!(limit.next.lock().unwrap().len(), MAX_TRACKED);
        advance(Duration::from_secs(2)).await;
        at_once(&limit);
        limit.try_acquire(u32::MAX);
        assert_eq!(at_once(&limit), 0, "keys at rest are dropped first");
    }
}
