//! Building blocks of responses.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};

/// As many headers as most answers have: their table is made once, and no larger.
const TYPICAL_HEADERS: usize = 6;

/// Every response of the service: its body is known whole before it is sent.
pub(crate) type Response = hyper::Response<Full<Bytes>>;

/// The media type of every body under `/v1`.
pub(crate) const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_body(status, APPLICATION_JSON, body)
}

pub(crate) fn with_body(
    status: StatusCode,
    media_type: HeaderValue,
    body: impl Into<Bytes>,
) -> Response {
    let mut response = empty(status);
    *response.body_mut() = Full::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Full::default());
    *response.headers_mut() = HeaderMap::with_capacity(TYPICAL_HEADERS);
    *response.status_mut() = status;
    response
}
