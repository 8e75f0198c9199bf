//! Messages to the service manager that has started the service, by the protocol `sd_notify`.

use std::{future, time::Duration};

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// Pings the watchdog, if there is one, twice in each of its intervals. Never ends. A runtime whose threads all hang
/// does not ping.
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

/// Tells the service manager about the service. What it cannot be told is logged and not tried again: a service works
/// without its manager.
pub(super) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}
