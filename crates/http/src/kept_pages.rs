//! Encoded pages, kept as long as the catalogue stays as it is.

use std::fmt;

use bytes::Bytes;
use hyper::header::HeaderValue;
use petstore_domain::{CatalogueVersion, PetQuery};
use quick_cache::{Weighter, sync::Cache};

/// What keeping a page costs besides its text, in bytes: its entry in the table, the two headers'
/// and the content's own allocations.
const OVERHEAD: usize = 320;
/// A page that is not small, in bytes. It only tells the cache how large a table to begin with.
const TYPICAL_PAGE: usize = 2048;

/// A page as it goes to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedPage {
    /// JSON.
    pub(crate) content: Bytes,
    /// Its entity tag.
    pub(crate) tag: HeaderValue,
    /// The value of its `Link`, unless it is the last one.
    pub(crate) next: Option<HeaderValue>,
}

/// Pages by query, each with the mark of the state that it was read from. A page counts while that
/// is the mark of the catalogue, so no write needs to know what is kept here.
pub(crate) struct KeptPages(Cache<PetQuery, Kept, Weight>);

#[derive(Clone)]
struct Kept {
    version: CatalogueVersion,
    page: EncodedPage,
}

#[derive(Clone)]
struct Weight;

impl Weighter<PetQuery, Kept> for Weight {
    fn weight(&self, _query: &PetQuery, Kept { page, .. }: &Kept) -> u64 {
        let next = page.next.as_ref().map_or(0, HeaderValue::len);
        (page.content.len() + page.tag.len() + next + OVERHEAD) as u64
    }
}

impl KeptPages {
    /// Keeps up to `most` bytes, those of pages that are asked for again rather than others.
    pub(crate) fn new(most: usize) -> Self {
        Self(Cache::with_weighter(most / TYPICAL_PAGE, most as u64, Weight))
    }

    /// The page of `query` in the state `version`, if it was kept.
    pub(crate) fn find(&self, query: &PetQuery, version: CatalogueVersion) -> Option<EncodedPage> {
        self.0.get(query).filter(|kept| kept.version == version).map(|kept| kept.page)
    }

    /// Keeps `page`, in place of what was kept of `query` in another state.
    pub(crate) fn keep(&self, query: PetQuery, version: CatalogueVersion, page: EncodedPage) {
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
