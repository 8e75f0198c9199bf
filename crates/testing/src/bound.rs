//! Bounds in time, held on machines that do other things too.

use std::{fs, time::Duration};

/// The noise of measuring: a poll, a thread that wakes up.
const NOISE: Duration = Duration::from_millis(200);
/// The time that a busy machine may add.
const SLACK: Duration = Duration::from_secs(15);
/// A machine is busy if less than this share of its processors' time is left over, in percent.
const IDLE: u64 = 25;

/// A stretch of time, from when it was made, and how busy the machine is meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    all: u64,
    idle: u64,
}

impl Bound {
    /// Begins now.
    #[must_use]
    pub fn begin() -> Self {
        // The times of all processors since the start of the machine, in ticks (proc(5)).
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks = line.split_whitespace().skip(1).map(|ticks| ticks.parse().unwrap_or(0));
        let ticks: Vec<u64> = ticks.take(8).collect();
        Self { all: ticks.iter().sum(), idle: ticks.iter().skip(3).take(2).sum() }
    }

    /// Returns what may be added to a bound until now: little on a quiet machine, 15 s on a busy one.
    #[must_use]
    pub fn slack(&self) -> Duration {
        if self.has_less_idle_than(IDLE) { SLACK } else { NOISE }
    }

    /// Returns whether less than `percent` of the processors' time was left over until now.
    #[must_use]
    pub fn has_less_idle_than(&self, percent: u64) -> bool {
        self.had_less_idle_than(percent, Self::begin())
    }

    /// The kernel may decrease its count of idle time: `iowait` is not reliable (proc(5)).
    const fn had_less_idle_than(self, percent: u64, now: Self) -> bool {
        let [idle, all] = [now.idle.saturating_sub(self.idle), now.all.saturating_sub(self.all)];
        idle * 100 <= all * percent
    }

    /// Holds that something took no longer than it may.
    ///
    /// # Panics
    /// It did.
    #[track_caller]
    pub fn hold(&self, what: &str, took: Duration, limit: Duration) {
        let slack = self.slack();
        assert!(
            took <= limit.saturating_add(slack),
            "{what}: {took:.2?}, although {limit:?} is promised"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Bound;

    #[test]
    fn a_count_that_decreases_does_not_overflow() {
        let before = Bound { all: 1000, idle: 500 };
        assert!(before.had_less_idle_than(25, Bound { all: 1100, idle: 499 }));
        assert!(before.had_less_idle_than(25, Bound { all: 999, idle: 499 }));
        assert!(!before.had_less_idle_than(25, Bound { all: 1100, idle: 590 }));
    }
}
