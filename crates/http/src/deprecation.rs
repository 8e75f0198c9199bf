//! The end of getPet (interface, sections 4.3 and 9).

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, LINK},
};
use petstore_domain::{Clock, Timestamp};

use crate::{
    error::{ApiError, ErrorCode},
    settings::GetPetSunset,
};

/// 5 December 2030, 00:00 UTC.
const SUNSET: Timestamp = Timestamp(1_922_659_200_000);

const DEPRECATION_NAME: HeaderName = HeaderName::from_static("deprecation");
const SUNSET_NAME: HeaderName = HeaderName::from_static("sunset");

/// 20 November 2026, 00:00 UTC (RFC 9745).
const DEPRECATION_VALUE: HeaderValue = HeaderValue::from_static("@1795132800");
/// [`SUNSET`] as RFC 8594 wants it.
const SUNSET_VALUE: HeaderValue = HeaderValue::from_static("Thu, 05 Dec 2030 00:00:00 GMT");
/// The replacement (RFC 5829).
const SUCCESSOR: HeaderValue =
    HeaderValue::from_static("</v1/pets?status=available>; rel=\"successor-version\"");

/// Whether getPet has ended.
pub(crate) fn has_ended(sunset: GetPetSunset, clock: &dyn Clock) -> bool {
    match sunset {
        GetPetSunset::Date => clock.now() >= SUNSET,
        GetPetSunset::Off => false,
        GetPetSunset::Now => true,
    }
}

/// 410, once getPet has ended.
pub(crate) fn require_not_ended(sunset: GetPetSunset, clock: &dyn Clock) -> Result<(), ApiError> {
    if has_ended(sunset, clock) {
        let message = "fetching one animal is no longer offered; \
                       use GET /v1/pets with the status filter";
        return Err(ApiError::new(ErrorCode::OperationRemoved, message));
    }
    Ok(())
}

/// What every answer of getPet says: that the operation ends.
pub(crate) const ANNOUNCEMENT: [(HeaderName, HeaderValue); 3] =
    [(DEPRECATION_NAME, DEPRECATION_VALUE), (SUNSET_NAME, SUNSET_VALUE), (LINK, SUCCESSOR)];

/// Says so on an answer that does not yet.
pub(crate) fn announce(headers: &mut HeaderMap) {
    if !headers.contains_key(DEPRECATION_NAME) {
        headers.extend(ANNOUNCEMENT);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::ManualClock;

    use super::{SUNSET, has_ended};
    use crate::settings::GetPetSunset;

    #[test]
    fn the_operation_ends_at_its_sunset_unless_the_operator_says_otherwise() {
        let clock = ManualClock::new(SUNSET.minus(Duration::from_millis(1)));
        assert!(!has_ended(GetPetSunset::Date, &clock));
        assert!(has_ended(GetPetSunset::Now, &clock));
        clock.set(SUNSET);
        assert!(has_ended(GetPetSunset::Date, &clock));
        assert!(!has_ended(GetPetSunset::Off, &clock));
    }
}
