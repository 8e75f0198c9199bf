//! Messages to the service manager, by the protocol `sd_notify`.

use std::{future, pin::pin, time::Duration};

use sd_notify::NotifyState;
use tokio::time::{sleep, timeout};

/// The interval at which [`extending`] checks the progress of its work.
const EXTENSION_INTERVAL: Duration = Duration::from_secs(5);
/// The time that each request for an extension asks for, in microseconds.
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
    loop {
        ping();
        sleep(limit / 2).await;
    }
}

/// Asks the service manager for more time to start.
pub(super) fn extend_start() {
    notify(&[NotifyState::ExtendTimeoutUsec(EXTENSION_USEC)]);
}

/// Runs `work`, a part of the start. Calls `extend` at the end of each interval if `advances` returns `true` then.
/// Work that hangs runs into the time limit of the service manager.
pub(super) async fn extending<T>(
    work: impl Future<Output = T>,
    mut advances: impl FnMut() -> bool,
    mut extend: impl FnMut(),
) -> T {
    let mut work = pin!(work);
    loop {
        match timeout(EXTENSION_INTERVAL, &mut work).await {
            Ok(done) => return done,
            Err(_) if advances() => extend(),
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
