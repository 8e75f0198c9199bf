//! The deprecation and the removal of getPet.

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, LINK},
};
use petstore_domain::Clock;

use super::{
    error::{ApiError, ErrorCode},
    http_date,
};
use crate::settings::GetPetSunset;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// The time of the deprecation (RFC 9745): 20 November 2026, 00:00 UTC.
const SINCE: HeaderValue = HeaderValue::from_static("@1795132800");
/// The header with the time of the removal (RFC 8594).
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Returns 410 if getPet is removed.
pub(crate) fn require_not_ended(sunset: GetPetSunset, clock: &dyn Clock) -> Result<(), ApiError> {
    if sunset.ends_at().is_some_and(|end| clock.now() >= end) {
        let message =
            "fetching one animal is no longer offered; use GET /v1/pets with the status filter";
        return Err(ApiError::new(ErrorCode::OperationRemoved, message));
    }
    Ok(())
}

/// Returns the headers that every response of getPet has: `Deprecation`, `Sunset`, and a link to the replacement below
/// `base` (RFC 5829). Only [`GetPetSunset::Date`] has a `Sunset`.
pub(crate) fn announcement(sunset: GetPetSunset, base: &str) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(DEPRECATION, SINCE)]);
    if let (GetPetSunset::Date, Some(end)) = (sunset, sunset.ends_at()) {
        headers.insert(SUNSET, http_date(end));
    }
    let successor = format!("<{base}/pets?status=available>; rel=\"successor-version\"");
    headers.extend(HeaderValue::try_from(successor).ok().map(|link| (LINK, link)));
    headers
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::ManualClock;

    use super::require_not_ended;
    use crate::settings::GetPetSunset;

    #[test]
    fn the_operation_ends_at_its_sunset_unless_the_settings_say_otherwise() {
        let ended = |sunset, clock: &ManualClock| require_not_ended(sunset, clock).is_err();
        let end = GetPetSunset::Date.ends_at().unwrap();
        let clock = ManualClock::new(end.minus(Duration::from_millis(1)));
        assert!(!ended(GetPetSunset::Date, &clock));
        assert!(ended(GetPetSunset::Now, &clock));
        clock.set(end);
        assert!(ended(GetPetSunset::Date, &clock));
        assert!(!ended(GetPetSunset::Off, &clock));
    }
}
