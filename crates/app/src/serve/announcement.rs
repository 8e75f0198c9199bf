//! What the service says: to people when it starts, and to the service manager where that asks, by the protocol
//! `sd_notify`. What the manager cannot be told is logged and not tried again: a service works without its manager.

use std::{future, time::Duration};

use petstore_domain::Clock as _;
use petstore_http::{GetPetSunset, Settings, get_pet_end};
use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    clock::{SystemClock, days_until, rfc3339},
    console::{Console, Output as _},
    driver::StoreLocation,
    serve::listener::BoundAddress,
};

/// Says on stdout and in the log where the service is.
pub(super) fn listening(
    addresses: &[BoundAddress],
    store: &dyn StoreLocation,
    settings: &Settings,
) {
    let lines = addresses.iter().map(|address| format!("petstore listens on {address}\n"));
    if let Err(error) = Console.answer(&lines.collect::<String>()) {
        tracing::warn!(%error, "cannot write to stdout");
    }
    for address in addresses {
        tracing::info!(
            %address,
            %store,
            environment = settings.environment,
            version = env!("CARGO_PKG_VERSION"),
            "petstore listens"
        );
    }
    sunset_ahead(settings.get_pet_sunset);
}

/// Says how long getPet is still offered.
fn sunset_ahead(sunset: GetPetSunset) {
    match get_pet_end(sunset) {
        None => tracing::info!("getPet is deprecated; its end is postponed (--get-pet-sunset)"),
        Some(end) => match days_until(end, SystemClock.now()) {
            0 => tracing::info!("getPet has ended, or ends today: it is answered 410 then"),
            days_left => {
                let ends_at = rfc3339(end);
                tracing::info!(days_left, ends_at, "getPet is deprecated, and ends");
            }
        },
    }
}

/// Pings the watchdog, if there is one, twice in each of its intervals. Never ends. A runtime whose threads all hang
/// does not ping.
pub(super) async fn ping_watchdog() {
    match sd_notify::watchdog_enabled() {
        Some(limit) => ping_again_and_again(limit, || notify(NotifyState::Watchdog)).await,
        None => future::pending().await,
    }
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

/// Tells the service manager about the service.
pub(super) fn notify(state: NotifyState<'_>) {
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
