//! A rate for each of many keys: the generic cell rate algorithm, which needs one instant for each key.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The most keys that are tracked at once: more than the 10,000 live API keys that there can be. When it is reached, keys
/// at rest are dropped; all are if that leaves too many.
const MAX_TRACKED: usize = 16_384;
/// The time whose requests a key that was at rest may use up at once.
const BURST: Duration = Duration::from_secs(1);

/// Limits the rate of each key `K` by itself.
#[derive(Debug)]
pub(crate) struct RateLimit<K> {
    interval: Duration,
    /// How much sooner than its time a request may come.
    tolerance: Duration,
    /// When the next request of each key would be in time without a burst.
    next: Mutex<HashMap<K, Instant>>,
}

impl<K: Copy + Eq + Hash> RateLimit<K> {
    /// Creates a limit of `per_second` requests a second, which may come at once after a second of rest.
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self::with_burst(BURST / per_second.get(), BURST)
    }

    /// Creates a limit of one request each `interval`. Those of the time `burst` may come at once after as much rest.
    pub(crate) fn with_burst(interval: Duration, burst: Duration) -> Self {
        Self { interval, tolerance: burst.saturating_sub(interval), next: Mutex::default() }
    }

    /// Returns whether `key` may have one more request now, and counts it if so.
    pub(crate) fn try_acquire(&self, key: K) -> bool {
        let now = Instant::now();
        let mut all = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let next = all.get(&key).map_or(now, |next| now.max(*next));
        if next - now > self.tolerance {
            return false;
        }
        if all.len() >= MAX_TRACKED && !all.contains_key(&key) {
            make_room(&mut all, now);
        }
        all.insert(key, next + self.interval);
        true
    }
}

/// Drops the keys at rest; all, if few are, so that this is not done for each request.
fn make_room<K: Eq + Hash>(all: &mut HashMap<K, Instant>, now: Instant) {
    all.retain(|_, next| *next > now);
    if all.len() > MAX_TRACKED / 2 {
        all.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use tokio::time::advance;

    use super::{MAX_TRACKED, RateLimit};

    fn limit(per_second: u32) -> RateLimit<u32> {
        RateLimit::new(NonZeroU32::new(per_second).unwrap())
    }

    /// How many requests of 1 may come at once.
    fn at_once(limit: &RateLimit<u32>) -> usize {
        (0..10_000).take_while(|_| limit.try_acquire(1)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_of_requests_may_come_at_once_and_then_one_in_each_interval() {
        for rate in [1, 10, 1000] {
            let limit = limit(rate);
            assert_eq!(at_once(&limit), rate as usize);
            advance(Duration::from_secs(1) / rate).await;
            assert_eq!(at_once(&limit), 1, "{rate}");
            advance(Duration::from_hours(1)).await;
            assert_eq!(at_once(&limit), rate as usize);
            assert!(limit.try_acquire(2), "another one");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_remembered() {
        let limit = limit(1);
        for key in 0..2 * u32::try_from(MAX_TRACKED).unwrap() {
            limit.try_acquire(key);
            assert!(limit.next.lock().unwrap().len() <= MAX_TRACKED);
        }
        // None is at rest, so all are forgotten for the first of these.
        for key in (1..).take(MAX_TRACKED) {
            limit.try_acquire(key);
        }
        assert_eq!(limit.next.lock().unwrap().len(), MAX_TRACKED);
        advance(Duration::from_secs(2)).await;
        at_once(&limit);
        limit.try_acquire(u32::MAX);
        assert_eq!(at_once(&limit), 0, "those at rest are forgotten first");
    }
}
