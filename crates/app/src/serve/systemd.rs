//! What the service manager is told where it asks, by the protocol `sd_notify`.
//!
//! What cannot be said is logged and not tried again: a service works without its manager.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// The service takes requests.
pub(super) fn note_ready() {
    notify(NotifyState::Ready);
}

/// The service drains.
pub(super) fn note_stopping() {
    notify(NotifyState::Stopping);
}

/// Pings the watchdog twice in each of its intervals, and never ends; `None` if there is none. A runtime whose
/// threads all hang does not ping.
pub(super) fn watchdog_pings() -> Option<impl Future<Output = ()>> {
    let limit = sd_notify::watchdog_enabled()?;
    Some(ping_again_and_again(limit, || notify(NotifyState::Watchdog)))
}

/// Pings twice in each `limit`.
async fn ping_again_and_again(limit: Duration, mut ping: impl FnMut()) {
    let mut tick = interval(limit / 2);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        ping();
    }
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::ping_again_and_again;

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_is_pinged_twice_in_each_of_its_intervals() {
        let (limit, mut pings) = (Duration::from_secs(30), 0);
        let almost_ten = Duration::from_secs(10 * 30 - 1);
        let _ = timeout(almost_ten, ping_again_and_again(limit, || pings += 1)).await;
        assert_eq!(pings, 20);
    }
}
