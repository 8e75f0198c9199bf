//! How many lines of a kind the log may have.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How many lines about refused requests, and how many about failures, a second may have, unless
/// every request is logged: neither a client that does everything wrong nor a store that is gone
/// must fill the disk.
const MAX_LINES_PER_SECOND: u32 = 100;

/// Counts the lines of the current second.
#[derive(Debug, Default)]
pub(super) struct LineBudget(Mutex<Option<Second>>);

#[derive(Debug)]
struct Second {
    began: Instant,
    written: u32,
    unwritten: u64,
}

impl LineBudget {
    /// Whether there may be one more line: the number of those left out since the last one, or `None`
    /// if this second has had its lines.
    pub(super) fn take(&self, now: Instant) -> Option<u64> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let second = guard.get_or_insert(Second { began: now, written: 0, unwritten: 0 });
        if now.saturating_duration_since(second.began) >= Duration::from_secs(1) {
            *second = Second { began: now, written: 0, unwritten: second.unwritten };
        }
        if second.written < MAX_LINES_PER_SECOND {
            second.written += 1;
            return Some(std::mem::take(&mut second.unwritten));
        }
        second.unwritten += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LineBudget, MAX_LINES_PER_SECOND};

    #[test]
    fn a_second_has_so_many_lines_and_the_next_knows_how_many_were_left_out() {
        let budget = LineBudget::default();
        let began = Instant::now();
        for _ in 0..MAX_LINES_PER_SECOND {
            assert_eq!(budget.take(began), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(budget.take(began + Duration::from_millis(999)), None);
        }
        assert_eq!(budget.take(began + Duration::from_secs(1)), Some(7));
        assert_eq!(budget.take(began + Duration::from_secs(1)), Some(0));
    }
}
