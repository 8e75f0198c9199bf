//! A cacheable body (a list, an animal, the document, a static file): sent as is, as gzip, or as 304.
//!
//! A list of 100 animals shrinks from 6.4 KiB to 0.9, the document from 52 KiB to 8. The first request that accepts gzip
//! compresses the body and keeps both forms. That takes 1.0 million instructions for a list of 100 animals, ten times a
//! query, and 29 million for the largest possible page. Other requests do not wait for the compression.

use std::{
    array,
    cell::RefCell,
    sync::{LazyLock, OnceLock},
};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress, Status};
use hyper::{
    HeaderMap, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, LINK, VARY},
};

use super::{
    APPLICATION_JSON, Response,
    conditional::{entity_tag, matches},
    empty, with_body,
};
use crate::{observe::ids::X_REQUEST_ID, settings::StaticFile};

/// The largest size of a body that is never compressed, in bytes.
const MIN: usize = 1024;

/// The compression level. A list of 100 animals is 2 % larger than with the default level 6, and takes nine tenths of the
/// time.
const LEVEL: Compression = Compression::new(4);

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
/// The header of gzip (RFC 1952, section 2.3): deflate, no name, no time, no operating system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

thread_local! {
    /// The compressor of a worker thread. A new one would set 300 KiB to zero.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(LEVEL, false));
}

/// The headers of 200. Bit 0 of the index is set for a `Link`, bit 1 for gzip. Copying a map is faster than inserting
/// the headers. Each map has placeholders for the headers that a response adds, because a copy has no spare capacity.
static HEADERS: LazyLock<[HeaderMap; 4]> = LazyLock::new(|| {
    array::from_fn(|index| {
        let mut headers = template(HeaderMap::new());
        if index & 1 != 0 {
            headers.insert(LINK, HeaderValue::from_static(""));
        }
        if index & 2 != 0 {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        headers
    })
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
    /// The value of `Link`; `None` for the last page.
    next: Option<HeaderValue>,
    /// The compressed content, set by the first request that accepts gzip; `None` if gzip saves nothing.
    gzip: OnceLock<Option<Bytes>>,
}

impl Representation {
    /// Creates the representation of JSON. `next` is the value of `Link`.
    pub(crate) fn json(content: impl Into<Bytes>, next: Option<HeaderValue>) -> Self {
        Self::new(APPLICATION_JSON, content.into(), next)
    }

    /// Creates the representation of a file.
    pub(crate) fn of_file(file: &StaticFile) -> Self {
        Self::new(HeaderValue::from_static(file.media_type), file.content.clone(), None)
    }

    fn new(media_type: HeaderValue, content: Bytes, next: Option<HeaderValue>) -> Self {
        let tag = entity_tag(&content, next.as_ref());
        Self { media_type, content, tag, next, gzip: OnceLock::new() }
    }

    /// Returns 200 with the content in the content coding that `request` prefers, or 304 if `If-None-Match` names the tag.
    /// A `template` replaces the usual headers of 200.
    pub(crate) fn answer(&self, request: &HeaderMap, template: Option<&HeaderMap>) -> Response {
        if matches(request, &self.tag) {
            return tagged(empty(StatusCode::NOT_MODIFIED), self.tag.clone());
        }
        let asked = request.contains_key(ACCEPT_ENCODING) && takes_gzip(request);
        let gzip = if asked { self.gzip() } else { None };
        let usual = usize::from(self.next.is_some()) + 2 * usize::from(gzip.is_some());
        let mut headers = template.unwrap_or_else(|| &HEADERS[usual]).clone();
        headers.insert(CONTENT_TYPE, self.media_type.clone());
        headers.insert(ETAG, self.tag.clone());
        if let Some(next) = &self.next {
            headers.insert(LINK, next.clone());
        }
        if gzip.is_some() {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        let mut response = Response::new(gzip.unwrap_or_else(|| self.content.clone()).into());
        *response.headers_mut() = headers;
        response
    }

    /// Returns the compressed content, or `None` if gzip saves nothing. Compresses outside of the lock of `gzip`, so that no
    /// other request waits.
    fn gzip(&self) -> Option<Bytes> {
        let known = self.gzip.get();
        known.cloned().unwrap_or_else(|| {
            let made = gzip(&self.content);
            self.gzip.get_or_init(|| made).clone()
        })
    }

    /// Returns the memory in use, in bytes. It grows when the content is compressed.
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
    // Any other outcome means that the compressed content would be longer than the content.
    if !matches!(ended, Ok(Status::StreamEnd)) {
        return None;
    }
    let length = u32::try_from(content.len()).ok()?;
    gzip.extend([crc32fast::hash(content).to_le_bytes(), length.to_le_bytes()].concat());
    gzip.shrink_to_fit();
    Some(gzip).filter(|gzip| gzip.len() < content.len()).map(Bytes::from)
}

/// Returns whether a client names gzip with a weight above 0 (RFC 9110, section 12.5.3). A malformed weight is 0. `*` does not
/// name gzip, because a client that sends `*` need not know every coding.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix(['q', 'Q']).and_then(|it| it.strip_prefix('='));
        let weight = weight.and_then(|weight| weight.parse::<f32>().ok()).unwrap_or_default();
        name.trim().eq_ignore_ascii_case("gzip") && weight > 0.0 && weight <= 1.0
    })
}

#[cfg(test)]
mod tests {
    use std::{
        hash::{BuildHasher as _, RandomState},
        io::Read as _,
    };

    use bytes::Bytes;
    use flate2::read::GzDecoder;
    use hyper::{
        HeaderMap,
        header::{ACCEPT_ENCODING, HeaderValue},
    };

    use super::{Representation, gzip, takes_gzip};

    #[test]
    fn gzip_is_sent_to_those_who_name_it() {
        let table = [
            ("gzip", true),
            ("GZIP", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("br , gzip ; q=0.001", true),
            ("gzip;Q=1.000", true),
            ("*", false),
            ("*;q=0.5", false),
            ("gzip, identity", true),
            ("identity;q=0.5, gzip;q=0.5", true),
            ("identity;q=0, gzip;q=0.1", true),
            ("identity, *;q=0.5", false),
            ("gzip;q=0.9, identity", true),
            ("x-gzip", false),
            ("gzip, *", true),
            ("gzip;q=0.2, *;q=0.1", true),
            ("gzip, *;q=0", true),
            ("*, gzip;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000, *", false),
            ("gzip;q=x", false),
            ("gzip;q=1.001", false),
            ("gzip;q=NaN", false),
            ("gzip;q=-0.5", false),
            ("gzip;q=0.+5", false),
            ("gzip;q=", false),
            ("gzip;level=9", false),
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

    #[test]
    fn content_is_compressed_once_and_counts_from_then_on() {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        let content = Bytes::from(vec![b'x'; 4000]);
        let large = Representation::json(content, None);
        let before = large.size();
        large.answer(&headers, None);
        let compressed = large.gzip.get().cloned().flatten().unwrap();
        large.answer(&headers, None);
        assert_eq!(large.gzip.get().unwrap().as_ref().unwrap().as_ptr(), compressed.as_ptr());
        assert!(compressed.len() < 100);
        assert_eq!(large.size(), before + compressed.len());
    }

    #[test]
    fn a_compressor_that_is_used_again_compresses_all_of_the_content() {
        let mut content = Vec::new();
        for number in 0..3000_u32 {
            content.extend((number * number).to_string().into_bytes());
            if number % 100 > 0 {
                continue;
            }
            let Some(compressed) = gzip(&content) else { continue };
            let mut read = Vec::new();
            GzDecoder::new(&*compressed).read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
        }
        let random = RandomState::new();
        let noise: Vec<_> =
            (0..500).flat_map(|number| random.hash_one(number).to_ne_bytes()).collect();
        assert!(gzip(&noise).is_none());
    }
}
