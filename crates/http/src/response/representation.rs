//! A cacheable body (a list, an animal, the OpenAPI document, a static file): sent as is, as gzip, or as 304 (RFC 9110,
//! sections 8.8.3 and 13.1.2).
//!
//! The first request that accepts gzip compresses the body, and both forms are kept. A list of 100 animals shrinks from
//! 6.4 KiB to 0.9 KiB. This takes 1.0 million instructions, ten times as many as the query of the store. The largest
//! possible page takes 29 million instructions. Other requests do not wait for the compression.

use std::{
    cell::RefCell,
    sync::{LazyLock, OnceLock},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress, Status};
use hyper::{
    HeaderMap, StatusCode,
    header::{
        ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, LINK,
        VARY,
    },
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::{APPLICATION_JSON, Response, empty, with_body};
use crate::observe::ids::X_REQUEST_ID;

/// The largest size of a body that is never compressed, in bytes.
const MIN: usize = 1024;

/// The compression level. A list of 100 animals takes nine tenths of the time of the default level 6, and is 2 %
/// larger.
const LEVEL: Compression = Compression::new(4);

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
/// The header of gzip (RFC 1952, section 2.3): deflate, no name, no time, no operating system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

thread_local! {
    /// The compressor of a worker thread. A new compressor would first set 300 KiB of memory to zero.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(LEVEL, false));
}

/// The headers of 200. Bit 0 of the index is set for a `Link`, bit 1 for gzip. Copying a map is faster than inserting
/// the headers. Each map has placeholders for the headers that a response adds, because a copy has no spare capacity.
static HEADERS: LazyLock<[HeaderMap; 4]> = LazyLock::new(|| {
    let (link, gzip) = ((LINK, HeaderValue::from_static("")), (CONTENT_ENCODING, GZIP));
    let each = [vec![], vec![link.clone()], vec![gzip.clone()], vec![link, gzip]];
    each.map(|more| template(HeaderMap::from_iter(more)))
});

/// Returns the headers of 200 without a `Link`, extended by `more`.
pub(crate) fn template(more: HeaderMap) -> HeaderMap {
    let nothing = HeaderValue::from_static("");
    let whole = with_body(StatusCode::OK, APPLICATION_JSON, Bytes::new());
    let mut headers = tagged(whole, nothing.clone()).into_parts().0.headers;
    headers.insert(X_REQUEST_ID, nothing);
    headers.extend(more);
    headers
}

/// A body and its entity tag.
#[derive(Debug)]
pub(crate) struct Representation {
    media_type: HeaderValue,
    content: Bytes,
    tag: HeaderValue,
    /// The value of `Link`; `None` without a next page.
    next: Option<HeaderValue>,
    /// The compressed content, set by the first request that accepts gzip; `None` if gzip saves nothing.
    gzip: OnceLock<Option<Bytes>>,
}

impl Representation {
    /// Creates the representation of JSON. `next` is the value of `Link`.
    pub(crate) fn json(content: impl Into<Bytes>, next: Option<HeaderValue>) -> Self {
        Self::new(APPLICATION_JSON, content.into(), next)
    }

    /// Creates the representation of `content`. `next` is the value of `Link`.
    pub(crate) fn new(media_type: HeaderValue, content: Bytes, next: Option<HeaderValue>) -> Self {
        let tag = entity_tag(&content, next.as_ref());
        Self { media_type, content, tag, next, gzip: OnceLock::new() }
    }

    /// Returns 200 with the content, in gzip if `request` accepts gzip, or 304 if `If-None-Match` names the tag. A
    /// `template` replaces the usual headers of 200.
    pub(crate) fn answer(&self, request: &HeaderMap, template: Option<&HeaderMap>) -> Response {
        if matches(request, &self.tag) {
            return tagged(empty(StatusCode::NOT_MODIFIED), self.tag.clone());
        }
        let asked = request.contains_key(ACCEPT_ENCODING) && takes_gzip(request);
        let gzip = if asked { self.gzip() } else { None };
        let usual = usize::from(self.next.is_some()) + 2 * usize::from(gzip.is_some());
        let mut headers = template.unwrap_or_else(|| &HEADERS[usual]).clone();
        // The templates have the media type of JSON.
        if self.media_type != APPLICATION_JSON {
            headers.insert(CONTENT_TYPE, self.media_type.clone());
        }
        headers.insert(ETAG, self.tag.clone());
        if let Some(next) = &self.next {
            headers.insert(LINK, next.clone());
        }
        if gzip.is_some() {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        let mut response = Response::new(gzip.unwrap_or_else(|| self.content.clone()));
        *response.headers_mut() = headers;
        response
    }

    /// Returns the compressed content, or `None` if gzip saves nothing. Compresses outside of the lock of `gzip`, so
    /// that no other request waits.
    fn gzip(&self) -> Option<Bytes> {
        let known = self.gzip.get();
        known.cloned().unwrap_or_else(|| {
            let made = gzip(&self.content);
            self.gzip.get_or_init(|| made).clone()
        })
    }

    /// Returns the memory in use, in bytes. The memory grows when the content is compressed.
    pub(crate) fn size(&self) -> usize {
        let gzip = self.gzip.get().and_then(Option::as_ref).map_or(0, Bytes::len);
        self.content.len() + gzip + self.tag.len() + self.next.as_ref().map_or(0, HeaderValue::len)
    }
}

fn tagged(mut response: Response, tag: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(ETAG, tag);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Returns the compressed content, or `None` if gzip saves nothing.
fn gzip(content: &[u8]) -> Option<Bytes> {
    if content.len() <= MIN {
        return None;
    }
    let mut gzip = Vec::with_capacity(content.len());
    gzip.extend_from_slice(&GZIP_HEAD);
    let ended = COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        compressor.compress_vec(content, &mut gzip, FlushCompress::Finish)
    });
    // The buffer has the size of the content. If the compressed content does not fit, gzip saves nothing.
    if !matches!(ended, Ok(Status::StreamEnd)) {
        return None;
    }
    let length = u32::try_from(content.len()).ok()?;
    gzip.extend([crc32fast::hash(content).to_le_bytes(), length.to_le_bytes()].concat());
    gzip.shrink_to_fit();
    Some(gzip).filter(|gzip| gzip.len() < content.len()).map(Bytes::from)
}

/// Returns whether a client names gzip with a weight above 0 (RFC 9110, section 12.5.3). A malformed weight counts as
/// 0. `*` does not count as gzip, because a client that sends `*` may not know gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix(['q', 'Q']).and_then(|it| it.strip_prefix('='));
        let weight = weight.and_then(|weight| weight.parse::<f32>().ok()).unwrap_or_default();
        name.trim().eq_ignore_ascii_case("gzip") && weight > 0.0 && weight <= 1.0
    })
}

/// A tag with placeholders for the digest.
const TEMPLATE: &[u8; 26] = b"W/\"......................\"";

/// Returns the weak entity tag of a body, and of the `Link` to the next page if there is one. The tag depends on
/// nothing else, so it is the same on every instance of one public URL, on every kind of store and after restarts. The
/// digest includes the link, because an addition may give the last page a link and leave its body as it is.
///
/// The digest is XXH3 with 128 bits; its seed is XXH3 of the link, or 0. XXH3 is stable across builds and machines.
/// The digest of a page of 20 animals takes 1,300 instructions. SHA-256 takes 70,000 on a processor without SHA
/// instructions.
///
/// A client that chooses the names of its animals may make two bodies with the same tag. Then another client that
/// revalidates the last page misses animals, but only animals of the first client.
fn entity_tag(content: &[u8], next: Option<&HeaderValue>) -> HeaderValue {
    let seed = next.map_or(0, |next| xxh3_64(next.as_bytes()));
    let digest = xxh3_128_with_seed(content, seed).to_be_bytes();
    let mut tag = *TEMPLATE;
    // 16 bytes are 22 characters, so this never fails.
    let _ = URL_SAFE_NO_PAD.encode_slice(digest, &mut tag[3..25]);
    HeaderValue::from_bytes(&tag).unwrap_or(HeaderValue::from_static("W/\"\""))
}

/// Returns whether `If-None-Match` names `tag`, by weak comparison. `*` matches everything that exists.
fn matches(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let opaque = tag.as_bytes().strip_prefix(b"W/").unwrap_or(tag.as_bytes());
    let mut lists = request.get_all(IF_NONE_MATCH).iter().map(HeaderValue::as_bytes);
    // The tags of this service contain no comma, so a comma inside another tag does no harm.
    lists.any(|list| {
        let mut members = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        members.any(|it| it == b"*" || it.strip_prefix(b"W/").unwrap_or(it) == opaque)
    })
}

#[cfg(test)]
mod tests;
