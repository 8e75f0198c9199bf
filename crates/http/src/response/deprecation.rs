//! The end of getPet, an operation that is deprecated (interface, sections 4.3 and 9).

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, LINK},
};
use petstore_domain::{Clock, Timestamp};

use super::{
    error::{ApiError, ErrorCode},
    http_date,
};
use crate::settings::GetPetSunset;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Since when it is deprecated (RFC 9745): 20 November 2026, 00:00 UTC.
const SINCE: HeaderValue = HeaderValue::from_static("@1795132800");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
/// When it ends (RFC 8594), unless the operator says otherwise: 5 December 2030, 00:00 UTC.
const END: Timestamp = Timestamp(1_922_659_200_000);

/// Returns when getPet ends or has ended; `None` if its end is postponed, the earliest time if it is rehearsed.
#[must_use]
pub fn get_pet_end(sunset: GetPetSunset) -> Option<Timestamp> {
    match sunset {
        GetPetSunset::Date => Some(END),
        GetPetSunset::Off => None,
        GetPetSunset::Now => Some(Timestamp(i64::MIN)),
    }
}

/// Returns whether the operation has ended.
pub(crate) fn has_ended(sunset: GetPetSunset, clock: &dyn Clock) -> bool {
    get_pet_end(sunset).is_some_and(|end| clock.now() >= end)
}

/// Refuses, with 410, an operation that has ended.
pub(crate) fn require_not_ended(sunset: GetPetSunset, clock: &dyn Clock) -> Result<(), ApiError> {
    if has_ended(sunset, clock) {
        let message =
            "fetching one animal is no longer offered; use GET /v1/pets with the status filter";
        return Err(ApiError::new(ErrorCode::OperationRemoved, message));
    }
    Ok(())
}

/// Returns what every answer of the operation announces: that it is deprecated, when it ends, and its replacement below
/// `base` (RFC 5829). The date is only that of [`GetPetSunset::Date`]: no other end is known.
pub(crate) fn announcement(sunset: GetPetSunset, base: &str) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(DEPRECATION, SINCE)]);
    if sunset == GetPetSunset::Date {
        headers.insert(SUNSET, http_date(END));
    }
    let successor = format!("<{base}/pets?status=available>; rel=\"successor-version\"");
    headers.extend(HeaderValue::try_from(successor).ok().map(|link| (LINK, link)));
    headers
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::ManualClock;

    use super::{DEPRECATION, END, LINK, SUNSET, announcement, has_ended};
    use crate::settings::GetPetSunset;

    #[test]
    fn the_operation_ends_at_its_sunset_unless_the_operator_says_otherwise() {
        let ended = |sunset, clock: &ManualClock| has_ended(sunset, clock);
        let clock = ManualClock::new(END.minus(Duration::from_millis(1)));
        assert!(!ended(GetPetSunset::Date, &clock));
        assert!(ended(GetPetSunset::Now, &clock));
        clock.set(END);
        assert!(ended(GetPetSunset::Date, &clock));
        assert!(!ended(GetPetSunset::Off, &clock));
    }

    #[test]
    fn the_announced_date_is_the_one_that_counts() {
        for (sunset, date) in [
            (GetPetSunset::Date, Some("Thu, 05 Dec 2030 00:00:00 GMT")),
            (GetPetSunset::Off, None),
            (GetPetSunset::Now, None),
        ] {
            let announced = announcement(sunset, "/v1");
            assert_eq!(announced.get(SUNSET).map(|date| date.to_str().unwrap()), date);
            assert_eq!(announced[DEPRECATION], "@1795132800");
            let link = "</v1/pets?status=available>; rel=\"successor-version\"";
            assert_eq!(announced[LINK], link);
        }
    }
}
