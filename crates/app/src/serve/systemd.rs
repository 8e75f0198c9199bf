//! What the service manager is told where it asks, by the protocol `sd_notify`.
//!
//! What cannot be said is logged and not tried again: a service works without its manager.

use sd_notify::NotifyState;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

/// The service takes requests.
pub(super) fn note_ready() {
    notify(NotifyState::Ready);
}

/// The service drains.
pub(super) fn note_stopping() {
    notify(NotifyState::Stopping);
}

/// Pings the watchdog twice in each of its intervals; `None` if there is none. A runtime whose threads all
/// hang does not ping.
pub(super) fn ping_watchdog() -> Option<JoinHandle<()>> {
    let mut tick = interval(sd_notify::watchdog_enabled()? / 2);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Some(tokio::spawn(async move {
        loop {
            tick.tick().await;
            notify(NotifyState::Watchdog);
        }
    }))
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}
