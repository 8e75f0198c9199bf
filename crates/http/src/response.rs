//! Responses: the building blocks of every response, and a file for each part.

pub(crate) mod cache;
pub(crate) mod cors;
pub(crate) mod deprecation;
pub(crate) mod error;
pub(crate) mod openapi;
pub(crate) mod representation;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use httpdate::fmt_http_date;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS},
};
use petstore_domain::Timestamp;

/// The last second of the year 9999, in seconds since 1970. Years of an HTTP date have four digits.
const LAST_SECOND: u64 = 253_402_300_799;
const EPOCH: HeaderValue = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");
/// The number of headers of most responses. A header map of this capacity does not grow.
const TYPICAL_HEADERS: usize = 6;

/// The `Cache-Control` of responses at addresses under `/v1`, which need a credential.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// A response of the service. The whole body is known before the response is sent.
pub(crate) type Response = hyper::Response<Bytes>;

/// The media type of every body under `/v1`.
pub(crate) const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns a response with a body in JSON.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_body(status, APPLICATION_JSON, body)
}

/// Returns a response with a body of `media_type`.
pub(crate) fn with_body(
    status: StatusCode,
    media_type: HeaderValue,
    body: impl Into<Bytes>,
) -> Response {
    let mut response = empty(status);
    *response.body_mut() = body.into();
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Returns a response without a body, with the `Cache-Control` of an address under `/v1`. [`answer`](crate::answer)
/// replaces this header at other addresses.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    *headers = HeaderMap::with_capacity(TYPICAL_HEADERS);
    headers.insert(CACHE_CONTROL, PRIVATE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns `at` as an HTTP date (RFC 9110, section 5.6.7), clamped to the years 1970 to 9999.
pub(crate) fn http_date(at: Timestamp) -> HeaderValue {
    let second = u64::try_from(at.0).map_or(0, |millis| millis / 1000).min(LAST_SECOND);
    let date = fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(second));
    HeaderValue::try_from(date).unwrap_or(EPOCH)
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
        ] {
            assert_eq!(http_date(Timestamp(millis)), date);
        }
    }
}
