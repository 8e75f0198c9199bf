//! Building blocks of responses.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, X_CONTENT_TYPE_OPTIONS},
};

/// As many headers as most answers have: their table is made once, and no larger.
const TYPICAL_HEADERS: usize = 6;

/// The `Cache-Control` of everything that needs a credential.
pub(crate) const PRIVATE: &str = "private, no-cache";

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
    *response.headers_mut() = common_headers();
    *response.status_mut() = status;
    response
}

/// The client has what `tag` stands for.
pub(crate) fn not_modified(tag: HeaderValue) -> Response {
    let mut response = empty(StatusCode::NOT_MODIFIED);
    response.headers_mut().insert(ETAG, tag);
    response
}

/// The headers of every answer. Each belongs to its caller alone until an open page says otherwise.
pub(crate) fn common_headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(TYPICAL_HEADERS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(PRIVATE));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
}
