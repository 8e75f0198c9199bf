//! A refusal that hyper does not write: that of a head which did not arrive in time.

use std::time::{Duration, SystemTime};

use http_body_util::BodyExt as _;
use httpdate::fmt_http_date;
use petstore_domain::Timestamp;

use crate::response::Response;

/// `response` as bytes of HTTP/1.1, dated `now`.
pub(super) async fn encode(response: Response, now: Timestamp) -> Vec<u8> {
    let (head, body) = response.into_parts();
    let mut bytes =
        format!("HTTP/1.1 {}\r\ndate: {}\r\n", head.status, http_date(now)).into_bytes();
    for (name, value) in &head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    bytes.extend_from_slice(b"\r\n");
    let Ok(body) = body.collect().await;
    bytes.extend_from_slice(&body.to_bytes());
    bytes
}

/// The form of time in HTTP, which knows the years 1970 to 9999.
fn http_date(now: Timestamp) -> String {
    const LAST: u64 = 253_402_300_799_999;
    let millis = u64::try_from(now.0).unwrap_or(0).min(LAST);
    fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}
