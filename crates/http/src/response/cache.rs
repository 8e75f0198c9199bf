//! The cache of encoded pages and animals, each valid for one version of the catalogue.
//!
//! A hit reads nothing from the store and encodes nothing, and only the first request that accepts gzip compresses.
//! This saves most of the processor time of a list, and a quarter of the processor time of one animal. The cache takes
//! up to [`Limits::page_cache`](crate::settings::Limits::page_cache) bytes of memory.

use std::sync::Arc;

use petstore_domain::{CatalogueVersion, PetId, PetQuery};
use quick_cache::{Weighter, sync::Cache};

use super::representation::Representation;

/// The memory of an entry in addition to its representation, in bytes: the table slot and the allocations.
const OVERHEAD: usize = 512;
/// The assumed size of a page, in bytes, from which the cache computes the initial size of its table.
const TYPICAL_PAGE: usize = 2048;

/// The key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Page(PetQuery),
    Pet(PetId),
}

/// The cache. An entry is valid only in the version in which it was read, so a write need not remove entries.
pub(crate) struct PageCache(Cache<Resource, Entry, Weight>);

/// The version, the representation and the weight of a resource. The weight is stored, because it must not change while
/// the entry is in the table, but compression enlarges the representation.
type Entry = (CatalogueVersion, Arc<Representation>, u64);

#[derive(Clone)]
struct Weight;

impl Weighter<Resource, Entry> for Weight {
    fn weight(&self, _: &Resource, (_, _, weight): &Entry) -> u64 {
        *weight
    }
}

impl PageCache {
    /// Creates a cache of up to `max` bytes. The cache prefers to keep entries that are read more than once.
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

    /// Inserts `resource` in `version`, and replaces its earlier entry. Insert it again after its first compression,
    /// because the compressed content adds to its weight.
    pub(crate) fn insert(
        &self,
        resource: Resource,
        version: CatalogueVersion,
        representation: Arc<Representation>,
    ) {
        let weight = (representation.size() + OVERHEAD) as u64;
        self.0.insert(resource, (version, representation, weight));
    }

    /// Returns the number of entries, and their memory in bytes.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.0.len() as u64, self.0.weight())
    }
}

#[cfg(test)]
mod tests;
