//! Building blocks of responses.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS},
};

use crate::request_id::X_REQUEST_ID;

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
fn common_headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(TYPICAL_HEADERS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(PRIVATE));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
}

/// The headers of answers that differ in little, made once: to copy them all costs less than half of
/// adding one by one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template(HeaderMap);

impl Template {
    /// JSON of the entity tag `tag`, and what `others` say.
    pub(crate) fn new(
        tag: HeaderValue,
        others: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Self {
        let mut headers = common_headers();
        headers.insert(CONTENT_TYPE, APPLICATION_JSON);
        headers.insert(ETAG, tag);
        headers.extend(others);
        // Keeps the place of an id, so that the copied table need not grow for it; even to replace a
        // header, it wants room for one more.
        headers.insert(X_REQUEST_ID, HeaderValue::from_static("-"));
        headers.reserve(1);
        // The copy has that room in its index, but no memory for headers that it will never have.
        Self(headers.clone())
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.0
    }

    /// 200 with these headers.
    pub(crate) fn answer(&self, content: Bytes) -> Response {
        let mut response = Response::new(content.into());
        *response.headers_mut() = self.0.clone();
        response
    }
}
