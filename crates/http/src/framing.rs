//! What hyper lets through although it can be read in two ways (RFC 9112, sections 3.2 and 6.1).
//!
//! `Content-Length` beside `Transfer-Encoding` is not among it: hyper reads such a request by the
//! latter, answers it and closes the connection, so that nothing behind it is taken for a request.

use hyper::{
    HeaderMap, Version,
    header::{HOST, TRANSFER_ENCODING},
    http::{request, uri::Authority},
};

use crate::error::{ApiError, ErrorCode};

/// Refuses a request whose target or length can be read in more than one way.
pub(crate) fn require_unambiguous(head: &request::Parts) -> Result<(), ApiError> {
    let fault = if is_plainly_chunked(&head.headers) {
        host_fault(head)
    } else {
        Some("the only Transfer-Encoding known here is 'chunked'")
    };
    fault.map_or(Ok(()), |message| Err(ApiError::new(ErrorCode::InvalidRequest, message)))
}

fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}

fn host_fault(head: &request::Parts) -> Option<&'static str> {
    let mut hosts = head.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Some("there must be one Host header, not several"),
        (None, _) if head.version == Version::HTTP_11 => Some("the Host header is required"),
        (Some(host), None) if !is_host(host.as_bytes()) => {
            Some("the Host header must be a host and, if need be, a port")
        }
        _ => None,
    }
}

/// An empty one stands for a target without an authority (RFC 9110, section 7.2).
fn is_host(host: &[u8]) -> bool {
    host.is_empty() || is_plain_host(host) || Authority::try_from(host).is_ok()
}

/// Whether it is a name or an IPv4 address, and maybe a port: most are, and need no parser.
fn is_plain_host(host: &[u8]) -> bool {
    let in_name =
        |byte: &&u8| matches!(**byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-');
    match host.split_at(host.iter().take_while(in_name).count()) {
        ([], _) => false,
        (_, []) => true,
        (_, [b':', port @ ..]) => !port.is_empty() && port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use hyper::{Request, Version};

    use super::require_unambiguous;

    fn passes(version: Version, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().version(version).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        require_unambiguous(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        let (one, two) = (("host", "a:80"), ("host", "b"));
        assert!(passes(Version::HTTP_11, &[one]));
        assert!(passes(Version::HTTP_11, &[("host", "")]));
        assert!(passes(Version::HTTP_11, &[("host", "[::1]:8080")]));
        assert!(!passes(Version::HTTP_11, &[]));
        assert!(!passes(Version::HTTP_11, &[one, two]));
        assert!(!passes(Version::HTTP_11, &[one, one]));
        assert!(!passes(Version::HTTP_11, &[("host", "a b")]));
        assert!(passes(Version::HTTP_10, &[]));
        assert!(!passes(Version::HTTP_10, &[one, two]));
        assert!(passes(Version::HTTP_2, &[]));
    }

    #[test]
    fn a_body_is_plainly_chunked_or_not_at_all() {
        let host = ("host", "a");
        assert!(passes(Version::HTTP_11, &[host, ("transfer-encoding", "chunked")]));
        assert!(passes(Version::HTTP_11, &[host, ("transfer-encoding", "Chunked")]));
        assert!(!passes(Version::HTTP_11, &[host, ("transfer-encoding", "gzip, chunked")]));
        let chunked = ("transfer-encoding", "chunked");
        assert!(!passes(Version::HTTP_11, &[host, chunked, chunked]));
    }
}
