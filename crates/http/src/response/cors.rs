//! Cross-origin resource sharing (Fetch standard, section 3.3), for pages of other origins.
//!
//! The script of a page sends the API key; the browser adds no credential by itself. So no response has
//! `Access-Control-Allow-Credentials`, and `*` gives a page no more rights than its key.

use hyper::{
    HeaderMap, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        HeaderValue, ORIGIN, VARY,
    },
    http::request::Parts,
};

use crate::response::{self, Response};

/// The setting that allows every origin.
const ANY: &str = "*";
/// The time for which a browser may cache the response to a preflight, in seconds: the maximum of Chromium.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// The request headers that a page may send.
const HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, if-none-match, x-request-id, traceparent, tracestate, content-type, \
     idempotency-key",
);
/// The response headers that a page may read, besides the headers that the Fetch standard always allows.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept-post, allow, date, deprecation, etag, idempotency-replayed, link, location, retry-after, \
     sunset, traceresponse, www-authenticate, x-request-id",
);

/// Returns whether a request is a preflight of one of `origins`. A preflight carries no credential.
pub(crate) fn is_preflight(origins: &[String], head: &Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && allowed(origins, &head.headers).is_some()
}

/// Adds the headers that allow `origins` to read the response. Adds `origin` to `Vary` if the headers depend on it.
pub(crate) fn add_headers(origins: &[String], request: &HeaderMap, answer: &mut HeaderMap) {
    if origins.is_empty() {
        return;
    }
    let allowed = allowed(origins, request);
    if allowed.as_ref().is_none_or(|origin| origin != ANY) {
        // Compressible responses have a `Vary` already.
        let varies = answer.contains_key(VARY);
        let names = if varies { "accept-encoding, origin" } else { "origin" };
        answer.insert(VARY, HeaderValue::from_static(names));
    }
    if let Some(origin) = allowed {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

/// Returns the value of `Access-Control-Allow-Origin` if the origin of a request is one of `origins`.
fn allowed(origins: &[String], request: &HeaderMap) -> Option<HeaderValue> {
    if origins.iter().any(|origin| origin == ANY) {
        return Some(HeaderValue::from_static(ANY));
    }
    let origin = request.get(ORIGIN)?;
    origins.iter().any(|allowed| origin == allowed).then(|| origin.clone())
}

/// Returns the response to a preflight. `methods` are the methods of the address. A preflight of an address without a
/// route succeeds too, so that the page can read the 404.
pub(crate) fn permission(methods: Option<HeaderValue>) -> Response {
    let mut response = response::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.extend(methods.map(|methods| (ACCESS_CONTROL_ALLOW_METHODS, methods)));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}
