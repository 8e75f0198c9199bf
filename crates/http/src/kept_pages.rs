//! Encoded pages, kept as long as the catalogue stays as it is.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use hyper::header::{ETAG, HeaderValue, LINK};
use petstore_domain::{CatalogueVersion, PetQuery};
use quick_cache::{Weighter, sync::Cache};

use crate::{
    conditional::IfNoneMatch,
    response::{self, Response, Template},
};

/// What keeping a page costs besides its texts, in bytes: its entry in the table, the headers' own
/// table, and the allocations.
const OVERHEAD: usize = 1408;
/// A page that is not small, in bytes. It only tells the cache how large a table to begin with.
const TYPICAL_PAGE: usize = 2048;

/// A page as it goes to a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedPage {
    /// JSON.
    content: Bytes,
    template: Template,
}

impl EncodedPage {
    /// `tag`: its entity tag; `next`: the value of its `Link`, unless it is the last one.
    pub(crate) fn new(content: Bytes, tag: HeaderValue, next: Option<HeaderValue>) -> Self {
        Self { content, template: Template::new(tag, next.map(|next| (LINK, next))) }
    }

    /// 200 with the page, or 304 if the client has just that.
    pub(crate) fn answer(&self, condition: Option<IfNoneMatch<'_>>) -> Response {
        let tag = condition.and_then(|condition| {
            self.template.headers().get(ETAG).filter(|tag| condition.matches(tag))
        });
        match tag {
            Some(tag) => response::not_modified(tag.clone()),
            None => self.template.answer(self.content.clone()),
        }
    }

    /// Its texts, in bytes.
    fn len(&self) -> usize {
        let headers = self.template.headers().values();
        self.content.len() + headers.map(HeaderValue::len).sum::<usize>()
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
