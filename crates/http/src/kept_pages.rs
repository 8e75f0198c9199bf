//! Encoded pages, kept as long as the catalogue stays as it is.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use hyper::{
    HeaderMap,
    header::{CONTENT_TYPE, ETAG, HeaderValue, LINK},
};
use petstore_domain::{CatalogueVersion, PetQuery};
use quick_cache::{Weighter, sync::Cache};

use crate::{
    conditional::IfNoneMatch,
    request_id::X_REQUEST_ID,
    response::{self, APPLICATION_JSON, Response},
};

/// What keeping a page costs besides its texts, in bytes: its entry in the table, the headers' own
/// table, and the allocations.
const OVERHEAD: usize = 1120;
/// A page that is not small, in bytes. It only tells the cache how large a table to begin with.
const TYPICAL_PAGE: usize = 2048;

/// A page as it goes to a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedPage {
    /// JSON.
    content: Bytes,
    /// Every header of the answer, made once: to copy them all costs less than to add one by one.
    /// The request's id is still to be filled in.
    headers: HeaderMap,
}

impl EncodedPage {
    /// `tag`: its entity tag; `next`: the value of its `Link`, unless it is the last one.
    pub(crate) fn new(content: Bytes, tag: HeaderValue, next: Option<HeaderValue>) -> Self {
        let mut headers = response::common_headers();
        headers.insert(CONTENT_TYPE, APPLICATION_JSON);
        headers.insert(ETAG, tag);
        if let Some(next) = next {
            headers.insert(LINK, next);
        }
        // Keeps the place of an id, so that the copied table need not grow for it; even to replace a
        // header, it wants room for one more.
        headers.insert(X_REQUEST_ID, HeaderValue::from_static("-"));
        headers.reserve(1);
        Self { content, headers }
    }

    /// 200 with the page, or 304 if the client has just that.
    pub(crate) fn answer(&self, condition: Option<IfNoneMatch<'_>>) -> Response {
        let tag = condition
            .and_then(|condition| self.headers.get(ETAG).filter(|tag| condition.matches(tag)));
        if let Some(tag) = tag {
            return response::not_modified(tag.clone());
        }
        let mut response = Response::new(self.content.clone().into());
        *response.headers_mut() = self.headers.clone();
        response
    }

    /// Its texts, in bytes.
    fn len(&self) -> usize {
        self.content.len() + self.headers.values().map(HeaderValue::len).sum::<usize>()
    }
}

/// Pages by query, each with the mark of the state that it was read from. A page counts while that
/// is the mark of the catalogue, so no write needs to know what is kept here.
pub(crate) struct KeptPages(Cache<PetQuery, Kept, Weight>);

#[derive(Clone)]
struct Kept {
    version: CatalogueVersion,
    page: Arc<EncodedPage>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<PetQuery, Kept> for Weight {
    fn weight(&self, _query: &PetQuery, Kept { page, .. }: &Kept) -> u64 {
        (page.len() + OVERHEAD) as u64
    }
}

impl KeptPages {
    /// Keeps up to `most` bytes, those of pages that are asked for again rather than others.
    pub(crate) fn new(most: usize) -> Self {
        Self(Cache::with_weighter(most / TYPICAL_PAGE, most as u64, Weight))
    }

    /// The page of `query` in the state `version`, if it was kept.
    pub(crate) fn find(
        &self,
        query: &PetQuery,
        version: CatalogueVersion,
    ) -> Option<Arc<EncodedPage>> {
        self.0.get(query).filter(|kept| kept.version == version).map(|kept| kept.page)
    }

    /// Keeps `page`, in place of what was kept of `query` in another state.
    pub(crate) fn keep(&self, query: PetQuery, version: CatalogueVersion, page: Arc<EncodedPage>) {
        self.0.insert(query, Kept { version, page });
    }
}

impl fmt::Debug for KeptPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptPages").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
