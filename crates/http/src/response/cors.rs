//! Cross-origin resource sharing (Fetch standard, section 3.3), for pages of other origins.
//!
//! The script of a page sends the API key, and a browser adds no credentials by itself. So no response allows credentials
//! in the sense of the standard, and `*` gives a page no more rights than its key.

use hyper::{
    HeaderMap, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        HeaderValue, ORIGIN, VARY,
    },
    http::request::Parts,
};

use crate::response::{self, Response, error::ApiError};

/// The setting that allows every origin.
const ANY: &str = "*";
/// The time for which a browser may cache the response to a preflight, in seconds: the maximum of Chromium.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// The request headers that a page may send to an address whose operations read no body.
const READ_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, if-none-match, x-request-id, traceparent, tracestate");
/// The request headers that a page may send to an address with an operation that reads a body.
const WRITE_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, if-none-match, x-request-id, traceparent, tracestate, content-type, \
     idempotency-key",
);
/// The response headers that a page may read, besides those that every page may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept-post, allow, date, deprecation, etag, idempotency-replayed, link, location, retry-after, \
     sunset, traceresponse, www-authenticate, x-request-id",
);

/// The allowed origins.
#[derive(Debug)]
pub(crate) enum Cors {
    Any,
    /// Origins in the form of the header `Origin`.
    These(Vec<String>),
}

impl Cors {
    /// Creates the list of allowed origins; `None` if it is empty.
    pub(crate) fn new(origins: &[String]) -> Option<Self> {
        if origins.iter().any(|origin| origin == ANY) {
            return Some(Self::Any);
        }
        (!origins.is_empty()).then(|| Self::These(origins.to_vec()))
    }

    /// Returns whether a request is a preflight of an allowed origin. A preflight carries no credential.
    pub(crate) fn is_preflight(&self, head: &Parts) -> bool {
        head.method == Method::OPTIONS
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.allowed(&head.headers).is_some()
    }

    /// Adds the headers that allow the origin to read the response. Replaces the `Vary` of the handler.
    pub(crate) fn add_headers(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        if matches!(self, Self::These(_)) {
            // Compressible responses have a `Vary` already.
            let varies = answer.contains_key(VARY);
            let names = if varies { "accept-encoding, origin" } else { "origin" };
            answer.insert(VARY, HeaderValue::from_static(names));
        }
        if let Some(origin) = self.allowed(request) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Returns the value of `Access-Control-Allow-Origin` if the origin of a request is allowed.
    fn allowed(&self, request: &HeaderMap) -> Option<HeaderValue> {
        match self {
            Self::Any => Some(HeaderValue::from_static(ANY)),
            Self::These(origins) => {
                let origin = request.get(ORIGIN)?;
                origins.iter().any(|allowed| origin == allowed).then(|| origin.clone())
            }
        }
    }
}

/// Returns the response to a preflight of an address with `methods`. An address without a route allows every request, so
/// that the page can read the 404.
pub(crate) fn permission(
    methods: Option<String>,
    takes_a_body: bool,
) -> Result<Response, ApiError> {
    let mut response = response::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    let sent = if takes_a_body || methods.is_none() { WRITE_HEADERS } else { READ_HEADERS };
    if let Some(methods) = methods {
        let methods = HeaderValue::try_from(methods).map_err(ApiError::internal)?;
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, sent);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, ORIGIN, VARY},
    };

    use super::Cors;

    #[test]
    fn only_an_equal_origin_may_read() {
        let these = Cors::new(&["https://app.example".to_owned()]).unwrap();
        for (sent, may_read) in [
            ("https://app.example", true),
            ("https://app.example:8443", false),
            ("http://app.example", false),
            ("https://app.example.evil.example", false),
            ("https://evil.example/https://app.example", false),
            ("null", false),
            ("", false),
        ] {
            let request = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(sent))]);
            let mut answer =
                HeaderMap::from_iter([(VARY, HeaderValue::from_static("accept-encoding"))]);
            these.add_headers(&request, &mut answer);
            assert_eq!(answer.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), may_read, "{sent}");
            let vary: Vec<_> = answer.get_all(VARY).iter().collect();
            assert_eq!(vary, ["accept-encoding, origin"]);
        }
    }

    #[test]
    fn every_origin_may_read_if_the_settings_say_so() {
        assert!(Cors::new(&[]).is_none());
        let any = Cors::new(&["https://app.example".to_owned(), "*".to_owned()]).unwrap();
        let mut answer = HeaderMap::new();
        any.add_headers(&HeaderMap::new(), &mut answer);
        assert_eq!(answer[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!answer.contains_key(VARY), "the answer is the same for all");
    }
}
