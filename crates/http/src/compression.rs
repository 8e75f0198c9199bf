//! Bodies compressed for clients that ask.
//!
//! **What.** An answer that has an entity tag (a list, an animal, the document, a file for browsers) is
//! compressed by gzip, which every client knows, if its body has more than [`MIN`] bytes and the client names
//! gzip. The compressed form is kept in the page cache under the tag, which is weak: it stands for both forms
//! (RFC 9110, section 8.8.3). Errors and answers to additions are small, and are left as they are.
//!
//! **What it buys.** A list of 100 animals shrinks from 6.4 KiB to 0.9, the document from 52 KiB to 8.
//!
//! **What it costs.** For a list of 100 animals that is not in the cache yet, 1.0 million instructions, ten
//! times a query; for the largest page there can be, 29 million. A list that is in the cache costs 5,000 of
//! 27,600. A client that does not ask pays for one more header: less than 1,000 of the 22,500 instructions of a
//! cached list.

use std::{
    io::{self, Write as _},
    mem,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, HeaderValue},
};

use crate::{
    accept_encoding::takes_gzip,
    page_cache::PageCache,
    response::{Compressed, Response, vary_by},
};

/// The largest body that is left as it is, in bytes.
const MIN: usize = 1024;

/// A list of 100 animals is 2 % larger than by the default, 6, for nine tenths of the time.
const LEVEL: Compression = Compression::new(4);

/// Gives an answer the form that the client of `request` asks for.
pub(crate) async fn apply(cache: &PageCache, request: &HeaderMap, response: &mut Response) {
    if !response.headers().contains_key(ETAG) {
        return;
    }
    let ready = response.extensions_mut().remove::<Compressed>();
    // Most programs do not ask.
    let asked = request.contains_key(ACCEPT_ENCODING) && takes_gzip(request);
    if asked && response.status() != StatusCode::NOT_MODIFIED {
        compress(cache, ready, response).await;
    }
    vary_by(response.headers_mut(), "accept-encoding");
}

async fn compress(cache: &PageCache, ready: Option<Compressed>, response: &mut Response) {
    let Ok(body) = mem::take(response.body_mut()).collect().await;
    let content = body.to_bytes();
    let compressed = match (ready, response.headers().get(ETAG)) {
        (Some(Compressed(form)), _) => Some(form),
        (None, Some(tag)) => cached(cache, tag, &content),
        (None, None) => None,
    };
    let Some(compressed) = compressed else {
        *response.body_mut() = Full::new(content);
        return;
    };
    *response.body_mut() = Full::new(compressed);
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
}

/// The compressed form of `content`, which has this tag; `None` if it is not worth it.
fn cached(cache: &PageCache, tag: &HeaderValue, content: &Bytes) -> Option<Bytes> {
    if content.len() <= MIN {
        return None;
    }
    cache.get_compressed(tag).or_else(|| {
        let compressed = gzip(content)?;
        let compressed = Some(compressed).filter(|form| form.len() < content.len())?;
        cache.insert_compressed(tag.clone(), compressed.clone());
        Some(compressed)
    })
}

/// Returns `content` compressed. Compressing in memory never fails.
pub(crate) fn gzip(content: &[u8]) -> Option<Bytes> {
    let compress = || -> io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), LEVEL);
        encoder.write_all(content)?;
        encoder.finish()
    };
    compress().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::header::HeaderValue;

    use super::cached;
    use crate::page_cache::PageCache;

    #[test]
    fn a_compressed_form_is_made_once() {
        let cache = PageCache::new(1 << 20);
        let content = Bytes::from(vec![b'x'; 4000]);
        let tag = HeaderValue::from_static("W/\"a\"");
        let first = cached(&cache, &tag, &content).unwrap();
        assert!(first.len() < 100);
        // The same tag stands for the same content.
        assert_eq!(cached(&cache, &tag, &Bytes::from(vec![b'y'; 4000])), Some(first));
    }

    #[test]
    fn what_would_not_shrink_or_is_small_is_left_as_it_is() {
        let cache = PageCache::new(1 << 20);
        let tag = HeaderValue::from_static("W/\"a\"");
        assert_eq!(cached(&cache, &tag, &Bytes::from(vec![b'x'; 1024])), None);
        let noise: Vec<u8> =
            (0..4000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let form = cached(&cache, &tag, &Bytes::from(noise));
        assert!(form.is_none_or(|form| form.len() < 4000));
    }
}
