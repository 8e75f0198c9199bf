//! Checks for ambiguous requests that hyper accepts (RFC 9112, sections 3.2 and 6.1).
//!
//! A request with both `Content-Length` and `Transfer-Encoding` needs no check: hyper uses `Transfer-Encoding`, and
//! closes the connection after the response. So hyper never reads the following bytes as a request.

use fluent_uri::UriRef;
use hyper::{
    HeaderMap, Version,
    header::{HOST, HeaderValue, TRANSFER_ENCODING},
    http::request,
};

use super::only;
use crate::response::error::{ApiError, ErrorCode};

/// Returns 400 for a request whose target or length is ambiguous. Without a body, there is no
/// `Transfer-Encoding` to check.
pub(crate) fn require_unambiguous(head: &request::Parts, has_body: bool) -> Result<(), ApiError> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (host, authority) = (hosts.next(), head.uri.authority());
    // An empty `Host` means that the target has no authority (RFC 9110, section 7.2).
    let is_good = |host: &HeaderValue| host.is_empty() || host.to_str().is_ok_and(is_host_and_port);
    let message = if has_body && !is_plainly_chunked(&head.headers) {
        "the only Transfer-Encoding known here is 'chunked'"
    } else if hosts.next().is_some() {
        "there must be one Host header, not several"
    } else if host.is_none() && head.version == Version::HTTP_11 {
        "the Host header is required"
    } else if !host.is_none_or(is_good)
        || !authority.is_none_or(|authority| is_host_and_port(authority.as_str()))
    {
        "the host of a request must be a name or an address and, if need be, a port"
    } else {
        return Ok(());
    };
    Err(ApiError::new(ErrorCode::InvalidRequest, message))
}

/// Returns whether the body has the only supported `Transfer-Encoding`, or none.
fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    !headers.contains_key(TRANSFER_ENCODING)
        || only(headers, &TRANSFER_ENCODING).is_some_and(is_chunked)
}

/// Returns whether `text` is a host that is not empty, with or without a port (RFC 3986, sections 3.2.2 and 3.2.3).
fn is_host_and_port(text: &str) -> bool {
    // The usual form needs no parser.
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'.';
    let mut bytes = text.as_bytes().iter();
    let end = bytes.position(|byte| !is_plain(byte));
    let has_good_port = end.is_none_or(|end| text.as_bytes()[end] == b':');
    if end != Some(0) && !text.is_empty() && has_good_port && bytes.all(u8::is_ascii_digit) {
        return true;
    }
    let reference = format!("//{text}");
    let authority = UriRef::parse(&*reference).ok().and_then(|parsed| parsed.authority());
    authority.is_some_and(|authority| {
        authority.as_str() == text && !authority.has_userinfo() && !authority.host().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use hyper::{Request, Uri, Version};
    use proptest::{prelude::*, string::string_regex};
    use regex::Regex;

    use super::{is_host_and_port, require_unambiguous};

    /// The grammar of RFC 3986, appendix A, as a regular expression: a host that is not empty, with or without a port.
    fn grammar() -> String {
        let h16 = "[0-9A-Fa-f]{1,4}";
        let dec_octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])";
        let ls32 = format!("({h16}:{h16}|{dec_octet}(\\.{dec_octet}){{3}})");
        let before = |max: usize| format!("(({h16}:){{0,{max}}}{h16})?::");
        let ipv6 = [
            format!("({h16}:){{6}}{ls32}"),
            format!("::({h16}:){{5}}{ls32}"),
            format!("({h16})?::({h16}:){{4}}{ls32}"),
            format!("{}({h16}:){{3}}{ls32}", before(1)),
            format!("{}({h16}:){{2}}{ls32}", before(2)),
            format!("{}{h16}:{ls32}", before(3)),
            format!("{}{ls32}", before(4)),
            format!("{}{h16}", before(5)),
            before(6),
        ];
        let plain = "[A-Za-z0-9._~!$&'()*+,;=-]";
        let future = format!("[vV][0-9A-Fa-f]+\\.({plain}|:)+");
        let name = format!("({plain}|%[0-9A-Fa-f]{{2}})+");
        format!("(\\[({}|{future})\\]|{name})(:[0-9]*)?", ipv6.join("|"))
    }

    proptest! {
        #[test]
        fn a_host_that_follows_the_grammar_is_accepted(host in string_regex(&grammar()).unwrap()) {
            prop_assert!(is_host_and_port(&host));
        }

        #[test]
        fn a_text_is_a_host_exactly_if_it_follows_the_grammar(
            host in "[]\\[:.%@/?#vVg0aF1-]{0,12}|\\[[:.0-9a-g]{1,20}\\]|\\[(([0-9a-f]{1,4}|1.2.3.4)?:){2,8}([0-9a-f]{1,4}|1.2.3.4)?\\]|\\PC{0,8}",
        ) {
            static GRAMMAR: LazyLock<Regex> =
                LazyLock::new(|| Regex::new(&format!("^({})$", grammar())).unwrap());
            prop_assert_eq!(is_host_and_port(&host), GRAMMAR.is_match(&host));
        }
    }

    /// Returns the message of the refusal; empty without a refusal.
    fn refusal(version: Version, headers: &[(&str, &str)]) -> String {
        let mut request = Request::builder().version(version).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let outcome = require_unambiguous(&request.body(()).unwrap().into_parts().0, true);
        outcome.map_or_else(|error| error.message.into_owned(), |()| String::new())
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        let (one, two) = (("host", "a:80"), ("host", "b"));
        let several = "there must be one Host header, not several";
        for (version, hosts, expected) in [
            (Version::HTTP_11, &[one][..], ""),
            (Version::HTTP_11, &[("host", "")], ""),
            (Version::HTTP_11, &[], "the Host header is required"),
            (Version::HTTP_11, &[one, two], several),
            (Version::HTTP_11, &[one, one], several),
            (Version::HTTP_10, &[], ""),
            (Version::HTTP_10, &[one, two], several),
            (Version::HTTP_2, &[], ""),
        ] {
            assert_eq!(refusal(version, hosts), expected, "{version:?} {hosts:?}");
        }
    }

    #[test]
    fn every_header_and_target_has_a_name_or_an_address_with_or_without_a_port() {
        for (host, is_good) in [
            ("a", true),
            ("pets.example:8443", true),
            ("[::1]:8080", true),
            ("[fe80::1%25eth0]", false),
            ("a%20b", true),
            ("user:secret@a:80", false),
            ("a:port", false),
            (":80", false),
        ] {
            for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
                let refusal = refusal(version, &[("host", host)]);
                assert_eq!(refusal.is_empty(), is_good, "{host} {version:?}");
                assert!(is_good || refusal.contains("must be a name or an address"), "{refusal}");
            }
            // The `:authority` of HTTP/2, or the target of HTTP/1. `Uri` itself refuses some of these hosts.
            let Ok(uri) = format!("http://{host}/").parse::<Uri>() else { continue };
            let mut request = Request::builder().version(Version::HTTP_2).uri(uri);
            for _ in 0..2 {
                let (head, ()) = request.body(()).unwrap().into_parts();
                assert_eq!(require_unambiguous(&head, true).is_ok(), is_good, "{host}");
                // The `Host` header does not replace the check of the target.
                request = Request::builder().uri(head.uri).header("host", "a");
            }
        }
    }

    #[test]
    fn a_body_is_plainly_chunked_or_not_at_all() {
        for (codings, is_good) in [
            (&["chunked"][..], true),
            (&["Chunked"], true),
            (&["gzip, chunked"], false),
            (&["chunked", "chunked"], false),
        ] {
            let mut headers = vec![("host", "a")];
            headers.extend(codings.iter().map(|coding| ("transfer-encoding", *coding)));
            assert_eq!(refusal(Version::HTTP_11, &headers).is_empty(), is_good, "{codings:?}");
        }
    }
}
