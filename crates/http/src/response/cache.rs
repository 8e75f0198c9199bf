//! Encoded pages and animals, valid as long as the catalogue has the version that they were read in.
//!
//! **What it buys.** What is found costs neither a query nor its encoding, nor its compression: most of a
//! list, and a quarter of the processor time of a get.
//!
//! **What it costs.** Up to [`Limits::page_cache`](crate::settings::Limits::page_cache) bytes of memory.

use std::sync::Arc;

use petstore_domain::{CatalogueVersion, PetId, PetQuery};
use quick_cache::{Weighter, sync::Cache};

use super::representation::Representation;

/// The cost of an entry besides its texts, in bytes: its place in the table, and the allocations.
const OVERHEAD: usize = 512;
/// The size of a page that is not small, in bytes: it only tells the cache how large a table to begin with.
const TYPICAL_PAGE: usize = 2048;

/// The key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Page(PetQuery),
    Pet(PetId),
}

/// Pages and animals, each with the version that it was read in. An entry counts while that is the
/// version of the catalogue, so no write needs to know what is cached.
pub(crate) struct PageCache(Cache<Resource, Entry, Weight>);

/// A resource in a version, with its weight, which must not change while the entry is in the table.
type Entry = (CatalogueVersion, Arc<Representation>, u64);

#[derive(Clone)]
struct Weight;

impl Weighter<Resource, Entry> for Weight {
    fn weight(&self, _: &Resource, (_, _, weight): &Entry) -> u64 {
        *weight
    }
}

impl PageCache {
    /// Creates a cache of up to `max` bytes. It keeps entries that are asked for again rather than others.
    pub(crate) fn new(max: usize) -> Self {
        Self(Cache::with_weighter(max / TYPICAL_PAGE, max as u64, Weight))
    }

    /// Returns `resource` in `version`, if the cache holds it.
    pub(crate) fn get(
        &self,
        resource: Resource,
        version: CatalogueVersion,
    ) -> Option<Arc<Representation>> {
        let (read_in, representation, _) = self.0.get(&resource)?;
        (read_in == version).then_some(representation)
    }

    /// Inserts `resource` in `version`, in place of another version.
    pub(crate) fn insert(
        &self,
        resource: Resource,
        version: CatalogueVersion,
        representation: Arc<Representation>,
    ) {
        self.0.insert(resource, entry(version, representation));
    }

    /// Weighs `resource` in `version` again, after its representation has grown.
    pub(crate) fn weigh_again(
        &self,
        resource: Resource,
        version: CatalogueVersion,
        representation: Arc<Representation>,
    ) {
        // It is refused if the cache holds it no longer.
        let _ = self.0.replace(resource, entry(version, representation), true);
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.weight()
    }
}

fn entry(version: CatalogueVersion, representation: Arc<Representation>) -> Entry {
    let weight = (representation.size() + OVERHEAD) as u64;
    (version, representation, weight)
}

#[cfg(test)]
mod tests;
