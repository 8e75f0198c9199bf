//! The `Date` of an answer. hyper has a date of its own, which keeps the latest time it saw: it would stay
//! in the future after the system's clock is set back. hyper writes that one only where there is none.

use std::{
    cell::RefCell,
    time::{Duration, SystemTime},
};

use httpdate::fmt_http_date;
use hyper::header::HeaderValue;
use petstore_domain::Timestamp;

/// The last second that HTTP's form of time knows: its years are 1970 to 9999.
const LAST: u64 = 253_402_300_799;

thread_local! {
    /// A second since 1970 and its date: most answers of a thread come in the same second as the one
    /// before.
    static LATEST: RefCell<Option<(u64, HeaderValue)>> = const { RefCell::new(None) };
}

/// `now` in the form of time in HTTP. Always `Some`: such a date is the value of a header.
pub(crate) fn http_date(now: Timestamp) -> Option<HeaderValue> {
    let second = u64::try_from(now.0).map_or(0, |millis| millis / 1000).min(LAST);
    LATEST.with_borrow_mut(|latest| {
        if latest.as_ref().is_none_or(|(known, _)| *known != second) {
            let date = fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(second));
            *latest = HeaderValue::try_from(date).ok().map(|date| (second, date));
        }
        latest.as_ref().map(|(_, date)| date.clone())
    })
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
            (1_922_659_199_999, "Wed, 04 Dec 2030 23:59:59 GMT"),
            (1_922_659_200_000, "Thu, 05 Dec 2030 00:00:00 GMT"),
            (1_922_659_200_999, "Thu, 05 Dec 2030 00:00:00 GMT"),
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (1_922_659_199_000, "Wed, 04 Dec 2030 23:59:59 GMT"), // The clock was set back.
        ] {
            assert_eq!(http_date(Timestamp(millis)).unwrap(), date);
        }
    }
}
