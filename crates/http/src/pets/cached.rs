//! What a list and a get share: what was encoded in this version of the catalogue is not read again.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use petstore_domain::CatalogueVersion;

use crate::{
    call::Call,
    conditional::{IfNoneMatch, Subject},
    page_cache::Encoded,
    response::Response,
};

/// The answer from the cache, if `subject` is there in `version`.
pub(super) fn find(
    call: &Call<'_>,
    subject: Subject,
    version: Option<CatalogueVersion>,
) -> Option<Response> {
    let cached = version.and_then(|version| call.state.page_cache.get(subject, version));
    if let Some(metrics) = &call.state.metrics {
        metrics.page_looked_up(cached.is_some());
    }
    cached.map(|encoded| encoded.answer(IfNoneMatch::of(&call.head.headers)))
}

/// The answer with `subject`, which was read in `version` and is encoded as `content`; `next` is the value
/// of its `Link`. It goes into the cache.
pub(super) fn answer(
    call: &Call<'_>,
    subject: Subject,
    version: Option<CatalogueVersion>,
    content: Vec<u8>,
    next: Option<HeaderValue>,
) -> Response {
    let content = Bytes::from(content);
    let tag = call.state.tags.of(&content, version, subject);
    let encoded = Arc::new(Encoded { content, tag, next });
    if let Some(version) = version {
        call.state.page_cache.insert(subject, version, Arc::clone(&encoded));
    }
    encoded.answer(IfNoneMatch::of(&call.head.headers))
}
