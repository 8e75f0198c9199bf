//! Files for browsers, in two forms: as they are, and compressed.

use std::fmt;

use hyper::{
    HeaderMap, StatusCode,
    header::{
        ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderValue,
        REFERRER_POLICY, VARY,
    },
};

use crate::{
    conditional::IfNoneMatch,
    error::ApiError,
    response::{self, Response},
};

/// A file for browsers. It is served as it is to everyone who asks, without a credential.
#[derive(Clone, Copy, Default)]
pub struct Page {
    /// Its address, outside `/v1`.
    pub path: &'static str,
    /// Its `Content-Type`.
    pub media_type: &'static str,
    /// Its `Content-Security-Policy`.
    pub content_security_policy: &'static str,
    /// Changes with the bytes of either form: the inside of its entity tag.
    pub tag: &'static str,
    /// As it is.
    pub content: &'static [u8],
    /// The same, compressed by gzip.
    pub gzip: &'static [u8],
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Page {
    /// The page in one of its forms, or 304 if the client has just that.
    pub(crate) fn answer(
        &self,
        gzip: bool,
        condition: Option<IfNoneMatch<'_>>,
    ) -> Result<Response, ApiError> {
        let (content, suffix) = if gzip { (self.gzip, "-gzip") } else { (self.content, "") };
        // Two forms, two strong tags (RFC 9110, section 8.8.3.3).
        let tag = value(&format!("\"{}{suffix}\"", self.tag))?;
        let unchanged = condition.is_some_and(|condition| condition.matches(&tag));
        let mut response = if unchanged {
            response::empty(StatusCode::NOT_MODIFIED)
        } else {
            response::with_body(StatusCode::OK, value(self.media_type)?, content)
        };
        let headers = response.headers_mut();
        if gzip && !unchanged {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        headers.insert(ETAG, tag);
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(CONTENT_SECURITY_POLICY, value(self.content_security_policy)?);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Ok(response)
    }
}

/// `text`, which was chosen at build time, as the value of a header.
pub(crate) fn value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}

/// Whether `Accept-Encoding` allows gzip (RFC 9110, section 12.5.3). Its weight counts only if it
/// is zero: compressed is what a browser wants, even if it does not say so strongly.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let codings: Vec<_> = lists.flat_map(|list| list.split(',')).map(coding).collect();
    let named = |name: &str| codings.iter().find(|(coding, _)| coding.eq_ignore_ascii_case(name));
    let found = named("gzip").or_else(|| named("x-gzip")).or_else(|| named("*"));
    found.is_some_and(|(_, wanted)| *wanted)
}

/// A coding, and whether it is wanted at all.
fn coding(member: &str) -> (&str, bool) {
    let (name, parameters) = member.split_once(';').unwrap_or((member, ""));
    let weight = parameters.trim().strip_prefix("q=").or(parameters.trim().strip_prefix("Q="));
    let wanted = weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|q| q > 0.0));
    (name.trim(), wanted)
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{ACCEPT_ENCODING, HeaderValue},
    };

    use super::takes_gzip;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let table = [
            ("gzip", true),
            ("GZIP", true),
            ("x-gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("br , gzip ; q=0.001", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000, *", false),
            ("gzip;q=x", false),
            ("*;q=0", false),
            ("identity", false),
            ("br, deflate", false),
            ("", false),
        ];
        for (sent, expected) in table {
            let sent = HeaderValue::from_static(sent);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, sent.clone())]);
            assert_eq!(takes_gzip(&headers), expected, "{sent:?}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(takes_gzip(&headers));
    }
}
