//! Encoded pages and animals, good as long as the catalogue has the version that they were read in, and
//! compressed forms of answers.
//!
//! **What it buys.** What is found costs neither a query nor its encoding, nor its compression: most of a
//! list, and a quarter of the processor time of a get.
//!
//! **What it costs.** Up to [`Limits::page_cache`](crate::settings::Limits::page_cache) bytes of memory.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{ETAG, HeaderValue, LINK},
};
use petstore_domain::CatalogueVersion;
use quick_cache::{Weighter, sync::Cache};

use crate::{
    conditional::{IfNoneMatch, Subject},
    response::{self, Response},
};

/// What an entry costs besides its texts, in bytes: its place in the table, and the allocations.
const OVERHEAD: usize = 512;
/// A page that is not small, in bytes. It only tells the cache how large a table to begin with.
const TYPICAL_PAGE: usize = 2048;

/// A page or an animal as it goes to a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// JSON.
    pub(crate) content: Bytes,
    /// Its entity tag.
    pub(crate) tag: HeaderValue,
    /// The value of the `Link` of a page that is not the last one.
    pub(crate) next: Option<HeaderValue>,
}

impl Encoded {
    /// 200 with it, or 304 if the client has just that.
    pub(crate) fn answer(&self, condition: Option<IfNoneMatch<'_>>) -> Response {
        if condition.is_some_and(|condition| condition.matches(&self.tag)) {
            return response::not_modified(self.tag.clone());
        }
        let mut response = response::json(StatusCode::OK, self.content.clone());
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        if let Some(next) = &self.next {
            headers.insert(LINK, next.clone());
        }
        response
    }

    /// Its texts, in bytes.
    fn len(&self) -> usize {
        self.content.len() + self.tag.len() + self.next.as_ref().map_or(0, HeaderValue::len)
    }
}

/// Pages and animals, each with the version that it was read in. An entry counts while that is the
/// version of the catalogue, so no write needs to know what is cached.
pub(crate) struct PageCache(Cache<Key, Entry, Weight>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Encoded(Subject),
    /// The tag of the compressed form: it changes when the bytes do.
    Compressed(HeaderValue),
}

#[derive(Clone)]
enum Entry {
    Encoded(CatalogueVersion, Arc<Encoded>),
    Compressed(Bytes),
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Entry> for Weight {
    fn weight(&self, _: &Key, entry: &Entry) -> u64 {
        let bytes = match entry {
            Entry::Encoded(_, encoded) => encoded.len(),
            Entry::Compressed(bytes) => bytes.len(),
        };
        (bytes + OVERHEAD) as u64
    }
}

impl PageCache {
    /// Holds up to `max` bytes, those of entries that are asked for again rather than others.
    pub(crate) fn new(max: usize) -> Self {
        Self(Cache::with_weighter(max / TYPICAL_PAGE, max as u64, Weight))
    }

    /// `subject` in `version`, if it is there.
    pub(crate) fn get(&self, subject: Subject, version: CatalogueVersion) -> Option<Arc<Encoded>> {
        match self.0.get(&Key::Encoded(subject))? {
            Entry::Encoded(read_in, encoded) if read_in == version => Some(encoded),
            Entry::Encoded(..) | Entry::Compressed(_) => None,
        }
    }

    /// The compressed form that has this tag, if it is there.
    pub(crate) fn get_compressed(&self, tag: &HeaderValue) -> Option<Bytes> {
        match self.0.get(&Key::Compressed(tag.clone()))? {
            Entry::Compressed(bytes) => Some(bytes),
            Entry::Encoded(..) => None,
        }
    }

    /// How many entries it holds, compressed forms too.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.weight()
    }

    /// Puts `encoded` in the place of `subject` in another version.
    pub(crate) fn insert(
        &self,
        subject: Subject,
        version: CatalogueVersion,
        encoded: Arc<Encoded>,
    ) {
        self.0.insert(Key::Encoded(subject), Entry::Encoded(version, encoded));
    }

    /// Keeps the compressed form that has this tag. It goes when others are asked for more often.
    pub(crate) fn insert_compressed(&self, tag: HeaderValue, bytes: Bytes) {
        self.0.insert(Key::Compressed(tag), Entry::Compressed(bytes));
    }
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
