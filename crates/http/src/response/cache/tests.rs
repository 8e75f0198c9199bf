use std::sync::Arc;

use petstore_domain::{CatalogueVersion, PageLimit, PetId, PetQuery, PetStatus};

use super::{OVERHEAD, PageCache, Resource};
use crate::response::representation::Representation;

const NOW: CatalogueVersion = CatalogueVersion(1);
const LATER: CatalogueVersion = CatalogueVersion(2);

fn query_after(id: i64) -> PetQuery {
    PetQuery { after: Some(PetId(id)), ..PetQuery::default() }
}

fn after(id: i64) -> Resource {
    Resource::Page(query_after(id))
}

fn page(length: usize) -> Arc<Representation> {
    Arc::new(Representation::json(vec![b' '; length], None))
}

#[test]
fn a_page_is_found_by_its_query_and_its_version() {
    let pages = PageCache::new(1 << 20);
    let found = |resource, version| pages.get(resource, version).map(|page| page.size());
    let (short, long) = (page(3), page(4));
    pages.insert(after(7), NOW, Arc::clone(&short));
    assert_eq!(found(after(7), NOW), Some(short.size()));
    assert_eq!(found(after(7), LATER), None);
    assert_eq!(found(after(8), NOW), None);
    let fewer = PetQuery { limit: PageLimit::MIN, ..query_after(7) };
    let sold = PetQuery { status: Some(PetStatus::Sold), ..query_after(7) };
    for other in [Resource::Page(fewer), Resource::Page(sold), Resource::Pet(PetId(7))] {
        assert_eq!(found(other, NOW), None);
    }

    pages.insert(after(7), LATER, Arc::clone(&long));
    assert_eq!(found(after(7), NOW), None);
    assert_eq!(found(after(7), LATER), Some(long.size()));
}

#[test]
fn the_cache_stays_within_its_bound() {
    const MAX: usize = 1 << 20;
    let pages = PageCache::new(MAX);
    for id in 0..3000 {
        pages.insert(after(id), NOW, page(1000));
    }
    let cached = (0..3000).filter(|id| pages.get(after(*id), NOW).is_some()).count();
    assert!(cached * (1000 + OVERHEAD) <= MAX, "{cached} pages are cached");
    assert!(cached > MAX / (1000 + OVERHEAD) / 2, "only {cached} pages are cached");
}

#[test]
fn a_frequently_read_page_outlasts_a_walk_through_the_catalogue() {
    let pages = PageCache::new(1 << 20);
    let first = Resource::Page(PetQuery::default());
    pages.insert(first, NOW, page(1000));
    for id in 0..3000 {
        assert!(pages.get(first, NOW).is_some(), "lost after {id} other pages");
        pages.insert(after(id), NOW, page(1000));
    }
}

#[test]
fn a_cache_without_memory_stays_empty() {
    let pages = PageCache::new(0);
    pages.insert(after(7), NOW, page(0));
    assert!(pages.get(after(7), NOW).is_none());
}
