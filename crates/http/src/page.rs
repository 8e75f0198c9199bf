//! Files for browsers, in two forms: as they are, and compressed.

use std::fmt;

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{CONTENT_SECURITY_POLICY, ETAG, HeaderValue, REFERRER_POLICY},
};

use crate::{
    conditional::IfNoneMatch,
    error::ApiError,
    response::{self, Compressed, Response},
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
    /// The page with its compressed form ready, or 304 if the client has it.
    pub(crate) fn answer(&self, condition: Option<IfNoneMatch<'_>>) -> Result<Response, ApiError> {
        let tag = value(&format!("W/\"{}\"", self.tag))?;
        let mut response = if condition.is_some_and(|condition| condition.matches(&tag)) {
            response::empty(StatusCode::NOT_MODIFIED)
        } else {
            response::with_body(StatusCode::OK, value(self.media_type)?, self.content)
        };
        response.extensions_mut().insert(Compressed(Bytes::from_static(self.gzip)));
        let headers = response.headers_mut();
        headers.insert(ETAG, tag);
        headers.insert(CONTENT_SECURITY_POLICY, value(self.content_security_policy)?);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Ok(response)
    }
}

/// `text`, which was chosen at build time, as the value of a header.
pub(crate) fn value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}
