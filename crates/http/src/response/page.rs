//! Files for browsers, in two forms: as they are, and compressed.

use std::fmt;

use bytes::Bytes;
use hyper::{
    HeaderMap,
    header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY},
};

use super::{Response, error::ApiError, representation::Representation};

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
    /// Returns the page, or 304 if the client has it.
    pub(crate) fn answer(&self, request: &HeaderMap) -> Result<Response, ApiError> {
        let [content, gzip] = [self.content, self.gzip].map(Bytes::from_static);
        let (media_type, tag) = (value(self.media_type)?, value(&format!("W/\"{}\"", self.tag))?);
        let page = Representation::with_gzip(media_type, content, tag, gzip);
        let mut response = page.answer(request);
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, value(self.content_security_policy)?);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Ok(response)
    }
}

/// Returns `text`, which was chosen at build time, as the value of a header.
pub(crate) fn value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}
