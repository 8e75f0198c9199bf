//! How many lines of a kind the log may have.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::rate_limit::RateLimit;

/// How many lines about refused requests, and how many about failures, a second may have, unless
/// every request is logged: neither a client that does everything wrong nor a store that is gone
/// must fill the disk.
const MAX_LINES_PER_SECOND: u32 = 100;
/// One cause has a line each interval.
const CAUSE_INTERVAL: Duration = Duration::from_secs(1);
/// And the lines of so much time at once when it begins: a few failures are found by their request ids.
const CAUSE_BURST: Duration = Duration::from_secs(10);

/// Counts the lines of the current second, and those about each cause.
#[derive(Debug)]
pub(super) struct LineBudget {
    second: Mutex<Option<Second>>,
    /// By the hash of their texts.
    causes: RateLimit<u64>,
}

#[derive(Debug)]
struct Second {
    began: Instant,
    written: u32,
    unwritten: u64,
}

impl LineBudget {
    /// Creates a budget of which nothing was used.
    pub(super) fn new() -> Self {
        let causes = RateLimit::with_burst(CAUSE_INTERVAL, CAUSE_BURST);
        Self { second: Mutex::default(), causes }
    }

    /// Takes one more line, and returns the number of those left out since the last one; `None` if this second has
    /// had its lines, or `cause` has.
    pub(super) fn take(&self, now: Instant, cause: Option<&str>) -> Option<u64> {
        let had_its_lines = cause.is_some_and(|cause| !self.causes.try_acquire(hash(cause)));
        let mut guard = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let second = guard.get_or_insert(Second { began: now, written: 0, unwritten: 0 });
        if now.saturating_duration_since(second.began) >= Duration::from_secs(1) {
            *second = Second { began: now, written: 0, unwritten: second.unwritten };
        }
        if had_its_lines || second.written == MAX_LINES_PER_SECOND {
            second.unwritten += 1;
            return None;
        }
        second.written += 1;
        Some(mem::take(&mut second.unwritten))
    }
}

fn hash(cause: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    cause.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::time::advance;

    use super::{LineBudget, MAX_LINES_PER_SECOND};

    #[test]
    fn a_second_has_so_many_lines_and_the_next_knows_how_many_were_left_out() {
        for known in [false, true] {
            let budget = LineBudget::new();
            let began = Instant::now();
            for number in 0..MAX_LINES_PER_SECOND {
                let cause = known.then(|| number.to_string());
                assert_eq!(budget.take(began, cause.as_deref()), Some(0));
            }
            for _ in 0..7 {
                assert_eq!(budget.take(began + Duration::from_millis(999), None), None);
            }
            assert_eq!(budget.take(began + Duration::from_secs(1), None), Some(7));
            assert_eq!(budget.take(began + Duration::from_secs(1), None), Some(0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cause_has_ten_lines_at_once_and_then_one_a_second() {
        let budget = LineBudget::new();
        let written = |cause| {
            let began = Instant::now();
            (0..50).filter(|_| budget.take(began, Some(cause)).is_some()).count()
        };
        assert_eq!(written("the disk is full"), 10);
        assert_eq!(written("the disk is gone"), 10);
        for _ in 0..20 {
            advance(Duration::from_secs(1)).await;
            assert_eq!(written("the disk is full"), 1);
        }
        advance(Duration::from_secs(20)).await;
        assert_eq!(written("the disk is full"), 10, "it begins again");
    }

    #[test]
    fn what_a_cause_had_no_line_for_is_counted() {
        let budget = LineBudget::new();
        let began = Instant::now();
        for _ in 0..30 {
            budget.take(began, Some("the disk is full"));
        }
        assert_eq!(budget.take(began, Some("the disk is gone")), Some(20));
    }
}
