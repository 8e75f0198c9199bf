//! Checks for requests that hyper accepts although they can be read in two ways (RFC 9112, sections 3.2 and 6.1).
//!
//! `Content-Length` beside `Transfer-Encoding` is not among it: hyper reads such a request by the
//! latter, answers it and closes the connection, so that nothing behind it is taken for a request.

use hyper::{
    HeaderMap, Version,
    header::{HOST, TRANSFER_ENCODING},
    http::{request, uri::Authority},
};

use crate::response::error::{ApiError, ErrorCode};

/// Refuses a request whose target or length can be read in more than one way.
pub(crate) fn require_unambiguous(head: &request::Parts) -> Result<(), ApiError> {
    let error = if is_plainly_chunked(&head.headers) {
        host_error(head)
    } else {
        Some("the only Transfer-Encoding known here is 'chunked'")
    };
    error.map_or(Ok(()), |message| Err(ApiError::new(ErrorCode::InvalidRequest, message)))
}

fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}

fn host_error(head: &request::Parts) -> Option<&'static str> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (host, authority) = (hosts.next(), head.uri.authority());
    if hosts.next().is_some() {
        return Some("there must be one Host header, not several");
    }
    if host.is_none() && head.version == Version::HTTP_11 {
        return Some("the Host header is required");
    }
    let is_good =
        host.is_none_or(|host| is_host(host.as_bytes())) && authority.is_none_or(is_host_and_port);
    (!is_good)
        .then_some("the host of a request must be a name or an address and, if need be, a port")
}

/// Returns whether it may be a `Host`. An empty one stands for a target without an authority (RFC 9110, section 7.2).
fn is_host(host: &[u8]) -> bool {
    host.is_empty() || Authority::try_from(host).is_ok_and(|authority| is_host_and_port(&authority))
}

/// Returns whether it has no user, and its port, if it has one, is a number (RFC 3986, section 3.2).
fn is_host_and_port(authority: &Authority) -> bool {
    let text = authority.as_str();
    let at = |byte| text.bytes().position(|it| it == byte);
    let end = if text.starts_with('[') { at(b']').map(|end| end + 1) } else { at(b':') };
    let (host, port) = text.split_at(end.unwrap_or(text.len()));
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port = |port: &str| port.is_empty() || is_number(port) && port.parse::<u16>().is_ok();
    let has_host = !host.is_empty() && at(b'@').is_none();
    has_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use hyper::{Request, Uri, Version};

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
    fn a_host_is_a_name_or_an_address_and_a_port_in_every_place_where_it_stands() {
        for (host, is_good) in [
            ("a", true),
            ("a:80", true),
            ("a:", true),
            ("pets.example:8443", true),
            ("[::1]", true),
            ("[::1]:8080", true),
            ("a_b~c", true),
            ("a,b", true),
            ("[v1.a]", true),
            ("[fe80::1%25eth0]", true),
            ("a%20b", false),
            ("user@a", false),
            ("a@a", false),
            ("user:secret@a:80", false),
            ("@a", false),
            ("a:port", false),
            ("a:+80", false),
            ("a:65536", false),
            ("a:80:80", false),
            (":80", false),
            ("[::1]x", false),
        ] {
            for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
                assert_eq!(passes(version, &[("host", host)]), is_good, "{host} {version:?}");
            }
            // As the `:authority` of HTTP/2, or in the target of HTTP/1. Some are refused when they are read.
            let Ok(uri) = format!("http://{host}/").parse::<Uri>() else { continue };
            let request = Request::builder().version(Version::HTTP_2).uri(uri).body(()).unwrap();
            let outcome = require_unambiguous(&request.into_parts().0);
            assert_eq!(outcome.is_ok(), is_good, "{host}");
        }
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
