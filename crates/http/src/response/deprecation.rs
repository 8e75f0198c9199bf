//! Operations that end (interface, sections 4.3 and 9).

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, LINK},
};
use petstore_domain::{Clock, Timestamp};

use crate::{
    response::error::{ApiError, ErrorCode},
    settings::GetPetSunset,
};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The end of an operation.
#[derive(Debug)]
pub(crate) struct Deprecation {
    /// Since when it is deprecated (RFC 9745).
    since: HeaderValue,
    /// When it ends, unless the operator says otherwise.
    sunset: Timestamp,
    /// The same as a date (RFC 8594).
    sunset_date: HeaderValue,
    /// What to use instead, below the base path.
    successor: &'static str,
    /// What a client is told after the end.
    message: &'static str,
}

/// getPet ends on 5 December 2030, 00:00 UTC.
pub(crate) static GET_PET: Deprecation = Deprecation {
    // 20 November 2026, 00:00 UTC.
    since: HeaderValue::from_static("@1795132800"),
    sunset: Timestamp(1_922_659_200_000),
    sunset_date: HeaderValue::from_static("Thu, 05 Dec 2030 00:00:00 GMT"),
    successor: "/pets?status=available",
    message: "fetching one animal is no longer offered; use GET /v1/pets with the status filter",
};

/// When getPet ends, or ended: the first moment there is if that is rehearsed. `None` if its end is
/// postponed.
#[must_use]
pub fn get_pet_end(sunset: GetPetSunset) -> Option<Timestamp> {
    match sunset {
        GetPetSunset::Date => Some(GET_PET.sunset),
        GetPetSunset::Off => None,
        GetPetSunset::Now => Some(Timestamp(i64::MIN)),
    }
}

impl Deprecation {
    /// Whether the operation has ended.
    pub(crate) fn has_ended(&self, sunset: GetPetSunset, clock: &dyn Clock) -> bool {
        match sunset {
            GetPetSunset::Date => clock.now() >= self.sunset,
            GetPetSunset::Off => false,
            GetPetSunset::Now => true,
        }
    }

    /// Refuses, with 410, an operation that has ended.
    pub(crate) fn require_not_ended(
        &self,
        sunset: GetPetSunset,
        clock: &dyn Clock,
    ) -> Result<(), ApiError> {
        if self.has_ended(sunset, clock) {
            return Err(ApiError::new(ErrorCode::OperationRemoved, self.message));
        }
        Ok(())
    }

    /// Announces on an answer that the operation ends, and its replacement below `base` (RFC 5829). The date is
    /// that of [`GetPetSunset::Date`] alone: no other end is known.
    pub(crate) fn announce(&self, headers: &mut HeaderMap, sunset: GetPetSunset, base: &str) {
        headers.insert(DEPRECATION, self.since.clone());
        if sunset == GetPetSunset::Date {
            headers.insert(SUNSET, self.sunset_date.clone());
        }
        let successor = format!("<{base}{}>; rel=\"successor-version\"", self.successor);
        if let Ok(successor) = HeaderValue::try_from(successor) {
            headers.insert(LINK, successor);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use petstore_domain::ManualClock;

    use super::GET_PET;
    use crate::settings::GetPetSunset;

    #[test]
    fn the_operation_ends_at_its_sunset_unless_the_operator_says_otherwise() {
        let ended = |sunset, clock: &ManualClock| GET_PET.has_ended(sunset, clock);
        let clock = ManualClock::new(GET_PET.sunset.minus(Duration::from_millis(1)));
        assert!(!ended(GetPetSunset::Date, &clock));
        assert!(ended(GetPetSunset::Now, &clock));
        clock.set(GET_PET.sunset);
        assert!(ended(GetPetSunset::Date, &clock));
        assert!(!ended(GetPetSunset::Off, &clock));
    }

    #[test]
    fn the_announced_date_is_the_one_that_counts() {
        let date = GET_PET.sunset_date.to_str().unwrap();
        let announced = httpdate::parse_http_date(date).unwrap();
        let millis = announced.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        assert_eq!(i64::try_from(millis), Ok(GET_PET.sunset.0));
    }
}
