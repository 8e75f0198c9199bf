//! A point in time.

use std::time::Duration;

/// Milliseconds since the Unix epoch, UTC, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time `duration` later, or the last representable time.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// Returns the time `duration` earlier, or the first representable time.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// Returns the time that has passed since `earlier`; `None` if `earlier` is later than `self`, for example because
    /// the clock was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        let elapsed = self.0.checked_sub(earlier.0)?;
        u64::try_from(elapsed).ok().map(Duration::from_millis)
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timestamp;

    #[test]
    fn arithmetic_saturates_and_nothing_has_passed_since_a_later_time() {
        assert_eq!(Timestamp(5).plus(Duration::from_secs(1)), Timestamp(1005));
        assert_eq!(Timestamp(5).minus(Duration::from_secs(1)), Timestamp(-995));
        assert_eq!(Timestamp(i64::MAX).plus(Duration::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(i64::MIN).minus(Duration::MAX), Timestamp(i64::MIN));
        assert_eq!(Timestamp(9).since(Timestamp(4)), Some(Duration::from_millis(5)));
        assert_eq!(Timestamp(4).since(Timestamp(9)), None);
        assert_eq!(Timestamp(i64::MAX).since(Timestamp(-1)), None);
    }
}
