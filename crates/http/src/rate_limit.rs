//! A rate for each of many keys: the generic cell rate algorithm, which needs one instant for each key.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// As many are remembered; more than the 10,000 live keys that there can be. If there are more that are
/// not at rest, all are forgotten, and begin anew.
const MAX_REMEMBERED: usize = 16_384;
/// How long one that was at rest may be faster than its rate: it may use up the turns of this time at
/// once.
const BURST: Duration = Duration::from_secs(1);

/// A rate that each `K` keeps for itself.
#[derive(Debug)]
pub(crate) struct RateLimit<K> {
    interval: Duration,
    /// How much sooner than its turn a request may come.
    tolerance: Duration,
    /// When the next turn of each would be without a burst.
    next: Mutex<HashMap<K, Instant>>,
}

impl<K: Copy + Eq + Hash> RateLimit<K> {
    /// Creates a limit of `per_second` requests a second, and as many at once after a second of rest.
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self::with_burst(BURST / per_second.get(), BURST)
    }

    /// Creates a limit of a request each `interval`, and of those of the time `burst` at once after as much rest.
    pub(crate) fn with_burst(interval: Duration, burst: Duration) -> Self {
        Self { interval, tolerance: burst.saturating_sub(interval), next: Mutex::default() }
    }

    /// Takes the next turn of `key`, and returns how long to wait for it. Returns `None`, and takes no turn, if that
    /// is longer than `max_wait`.
    pub(crate) fn take(&self, key: K, max_wait: Duration) -> Option<Duration> {
        let now = Instant::now();
        let mut all = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let next = all.get(&key).map_or(now, |next| now.max(*next));
        let wait = (next - now).saturating_sub(self.tolerance);
        if wait > max_wait {
            return None;
        }
        if all.len() >= MAX_REMEMBERED && !all.contains_key(&key) {
            make_room(&mut all, now);
        }
        all.insert(key, next + self.interval);
        Some(wait)
    }
}

/// Forgets those at rest; all, if few are, so that this is not done for each request.
fn make_room<K: Eq + Hash>(all: &mut HashMap<K, Instant>, now: Instant) {
    all.retain(|_, next| *next > now);
    if all.len() > MAX_REMEMBERED / 2 {
        all.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use tokio::time::advance;

    use super::{MAX_REMEMBERED, RateLimit};

    const MILLI: Duration = Duration::from_millis(1);

    fn limit(per_second: u32) -> RateLimit<u32> {
        RateLimit::new(NonZeroU32::new(per_second).unwrap())
    }

    /// How many requests of 1 have their turn at once.
    fn at_once(limit: &RateLimit<u32>) -> usize {
        (0..10_000).take_while(|_| limit.take(1, Duration::ZERO).is_some()).count()
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
            assert_eq!(limit.take(2, Duration::ZERO), Some(Duration::ZERO), "another one");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_get_one_turn_after_another_and_no_more_than_the_wait_allows() {
        let limit = limit(10);
        at_once(&limit);
        let waits: Vec<_> = (0..4).map(|_| limit.take(1, 250 * MILLI)).collect();
        assert_eq!(waits, [Some(100 * MILLI), Some(200 * MILLI), None, None]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_remembered() {
        let limit = limit(1);
        for key in 0..2 * u32::try_from(MAX_REMEMBERED).unwrap() {
            limit.take(key, Duration::ZERO);
            assert!(limit.next.lock().unwrap().len() <= MAX_REMEMBERED);
        }
        // None is at rest, so all are forgotten for the first of these.
        for key in (1..).take(MAX_REMEMBERED) {
            limit.take(key, Duration::ZERO);
        }
        assert_eq!(limit.next.lock().unwrap().len(), MAX_REMEMBERED);
        advance(Duration::from_secs(2)).await;
        at_once(&limit);
        limit.take(u32::MAX, Duration::ZERO);
        assert_eq!(at_once(&limit), 0, "those at rest are forgotten first");
    }
}
