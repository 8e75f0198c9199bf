//! What the service says when it starts.

use petstore_domain::Clock as _;
use petstore_http::{GetPetSunset, Settings, get_pet_end};

use crate::{
    clock::{SystemClock, days_until, rfc3339},
    console::{Console, Output as _},
    driver::StoreLocation,
    serve::place::Place,
};

/// Says on stdout and in the log where the service is.
pub(super) fn listening(places: &[Place], store: &dyn StoreLocation, settings: &Settings) {
    let lines = places.iter().map(|place| format!("petstore listens on {place}\n"));
    if let Err(error) = Console.answer(&lines.collect::<String>()) {
        tracing::warn!(%error, "cannot write to stdout");
    }
    for place in places {
        tracing::info!(
            address = place.address(),
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
