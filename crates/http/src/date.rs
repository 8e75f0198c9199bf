//! The `Date` of an answer. hyper has a date of its own, which keeps the latest time it saw: it would stay
//! in the future after the system's clock is set back. hyper writes that one only where there is none.

use std::time::{Duration, SystemTime};

use httpdate::fmt_http_date;
use hyper::header::HeaderValue;
use petstore_domain::Timestamp;

/// `now` in the form of time in HTTP, which knows the years 1970 to 9999. Always `Some`: such a date is the value of a header.
pub(crate) fn http_date(now: Timestamp) -> Option<HeaderValue> {
    const LAST: u64 = 253_402_300_799_999;
    let millis = u64::try_from(now.0).unwrap_or(0).min(LAST);
    let date = fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
    HeaderValue::try_from(date).ok()
}

#[cfg(test)]
mod tests {
    use petstore_domain::Timestamp;

    use super::http_date;

    #[test]
    fn every_time_has_a_date() {
        for (millis, date) in [
            (i64::MIN, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_922_659_200_999, "Thu, 05 Dec 2030 00:00:00 GMT"),
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(http_date(Timestamp(millis)).unwrap(), date);
        }
    }
}
