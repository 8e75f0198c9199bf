//! Pages of other origins: cross-origin resource sharing (Fetch standard, section 3.3).
//!
//! A page sends its API key by a script of its own; the browser adds none by itself. So no answer allows
//! credentials in the sense of the standard, and `*` gives a page nothing that its key does not.

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

/// Stands for every origin.
const ANY: &str = "*";
/// How long a browser may keep the answer to a preflight, in seconds: Chromium takes no more.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// The header names that a page may send to an operation that takes no body.
const READ_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, if-none-match, x-request-id, traceparent, tracestate");
/// The header names that a page may send to an operation that takes a body.
const WRITE_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, if-none-match, x-request-id, traceparent, tracestate, content-type, \
     idempotency-key",
);
/// The header names that a page may read, besides those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept-post, allow, date, deprecation, etag, idempotency-replayed, link, location, retry-after, \
     sunset, traceresponse, www-authenticate, x-request-id",
);

/// Which origins may call.
#[derive(Debug)]
pub(crate) enum Cors {
    Any,
    /// As browsers send them.
    These(Vec<String>),
}

impl Cors {
    /// Returns `None` if there is no origin that may call.
    pub(crate) fn new(origins: &[String]) -> Option<Self> {
        if origins.iter().any(|origin| origin == ANY) {
            return Some(Self::Any);
        }
        (!origins.is_empty()).then(|| Self::These(origins.to_vec()))
    }

    /// Returns whether a request is a preflight, by which a browser asks whether a page may send another one, and its
    /// origin may. It carries no credential.
    pub(crate) fn is_preflight(&self, head: &Parts) -> bool {
        head.method == Method::OPTIONS
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.allowed(&head.headers).is_some()
    }

    /// Adds to an answer who may read it, after the handler has set `Vary`, which this replaces.
    pub(crate) fn add_headers(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        if matches!(self, Self::These(_)) {
            // Compressible answers have a `Vary` already.
            let varies = answer.contains_key(VARY);
            let names = if varies { "accept-encoding, origin" } else { "origin" };
            answer.insert(VARY, HeaderValue::from_static(names));
        }
        if let Some(origin) = self.allowed(request) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Returns the origin of a request as `Access-Control-Allow-Origin` has it, if it may call.
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

/// Returns the answer to a preflight: what may be sent to an address that knows `methods`, some of which may take a
/// body. To one that knows none a page may send anything, or it could not read the refusal.
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
    fn an_origin_may_read_if_it_is_the_very_one() {
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
    fn any_origin_may_read_where_that_is_asked_for() {
        assert!(Cors::new(&[]).is_none());
        let any = Cors::new(&["https://app.example".to_owned(), "*".to_owned()]).unwrap();
        let mut answer = HeaderMap::new();
        any.add_headers(&HeaderMap::new(), &mut answer);
        assert_eq!(answer[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!answer.contains_key(VARY), "the answer is the same for all");
    }
}
