//! Messages to the service manager, by the protocol `sd_notify`.

use std::{future, pin::pin, time::Duration};

use sd_notify::NotifyState;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// The interval at which [`extending`] asks for more time.
const EXTENSION_INTERVAL: Duration = Duration::from_secs(5);
/// The time that each request for an extension gives the start, in microseconds.
const EXTENSION_USEC: u32 = 30_000_000;

/// Pings the watchdog, if the service manager has one. Never ends. A runtime whose threads all hang does not ping.
pub(super) async fn ping_watchdog() {
    // A limit of 0 means that there is no watchdog.
    match sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) {
        Some(limit) => ping_every(limit, || notify(&[NotifyState::Watchdog])).await,
        None => future::pending().await,
    }
}

/// Pings twice in each `limit`.
pub(super) async fn ping_every(limit: Duration, mut ping: impl FnMut()) {
    let mut tick = interval(limit / 2);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        ping();
    }
}

/// Runs `work`, a part of the start. Asks the service manager for more time in each interval, up to `limit`. Work that
/// takes longer runs into the manager's own time limit.
pub(super) async fn extending<T>(work: impl Future<Output = T>, limit: Duration) -> T {
    extending_by(work, limit, || notify(&[NotifyState::ExtendTimeoutUsec(EXTENSION_USEC)])).await
}

async fn extending_by<T>(
    work: impl Future<Output = T>,
    limit: Duration,
    mut extend: impl FnMut(),
) -> T {
    let (mut work, began) = (pin!(work), Instant::now());
    loop {
        match timeout(EXTENSION_INTERVAL, &mut work).await {
            Ok(done) => return done,
            Err(_) if began.elapsed() < limit => extend(),
            Err(_) => {}
        }
    }
}

/// Sends `states` to the service manager. Logs a failure and does not retry, because the service works without a manager.
pub(super) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::{EXTENSION_INTERVAL, EXTENSION_USEC, extending_by};

    #[test]
    fn an_extension_outlasts_the_interval_at_which_it_is_asked_for() {
        let extension = Duration::from_micros(EXTENSION_USEC.into());
        assert!(extension > 2 * EXTENSION_INTERVAL, "{extension:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn more_time_is_asked_for_up_to_the_limit() {
        let mut extensions = 0;
        let work = async {
            sleep(100 * EXTENSION_INTERVAL + EXTENSION_INTERVAL / 2).await;
            "done"
        };
        let limit = 4 * EXTENSION_INTERVAL;
        assert_eq!(extending_by(work, limit, || extensions += 1).await, "done");
        assert_eq!(extensions, 3);
    }
}
