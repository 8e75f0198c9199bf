//! How slowly a client may take its answers.

use std::time::Duration;

use tokio::time::Instant;

/// What a client must take of an answer, in bytes a second: enough for the slowest honest line.
const MIN_RATE: u64 = 1024;

/// The time that a client has left for what waits for it. Each byte that it takes gives it the time
/// that a byte takes at [`MIN_RATE`], but it never has more than the limit: so it is late after the
/// limit in silence, and also if it takes less than `MIN_RATE` for long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    limit: Duration,
    deadline: Instant,
}

impl Pace {
    /// A client that has the whole of `limit` from now on.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, deadline: Instant::now() + limit }
    }

    /// The client has taken so many bytes.
    pub(super) fn take(&mut self, bytes: usize) {
        let micros = (bytes as u64).saturating_mul(1_000_000) / MIN_RATE;
        let later = self.deadline + Duration::from_micros(micros).min(self.limit);
        self.deadline = later.min(Instant::now() + self.limit);
    }

    /// When it is too late.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{MIN_RATE, Pace};

    const LIMIT: Duration = Duration::from_secs(30);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn who_keeps_the_least_rate_is_never_late_and_who_does_not_is() {
        let rate = usize::try_from(MIN_RATE).unwrap();
        for (rate, expected) in [(0, Some(30)), (1, Some(31)), (rate / 2, Some(59)), (rate, None)] {
            let mut pace = Pace::new(LIMIT);
            let mut late = None;
            for second in 1..1000 {
                advance(SECOND).await;
                if pace.deadline() <= Instant::now() {
                    late = Some(second);
                    break;
                }
                pace.take(rate);
            }
            assert_eq!(late, expected, "{rate} bytes a second");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_quickly_allows_no_longer_silence() {
        let mut pace = Pace::new(LIMIT);
        pace.take(usize::MAX);
        assert_eq!(pace.deadline(), Instant::now() + LIMIT);
    }
}
