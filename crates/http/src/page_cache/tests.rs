use std::sync::Arc;

use hyper::header::HeaderValue;
use petstore_domain::{CatalogueVersion, PageLimit, PetId, PetQuery};

use super::{Encoded, OVERHEAD, PageCache};
use crate::conditional::Subject;

const NOW: CatalogueVersion = CatalogueVersion(1);
const LATER: CatalogueVersion = CatalogueVersion(2);

fn query_after(id: i64) -> PetQuery {
    PetQuery { after: Some(PetId(id)), ..PetQuery::default() }
}

fn after(id: i64) -> Subject {
    Subject::Page(query_after(id))
}

fn page(length: usize) -> Arc<Encoded> {
    let tag = HeaderValue::from_static("\"tag\"");
    Arc::new(Encoded { content: vec![b' '; length].into(), tag, next: None })
}

#[test]
fn a_page_is_found_by_its_query_in_its_version_alone() {
    let pages = PageCache::new(1 << 20);
    pages.insert(after(7), NOW, page(3));
    assert_eq!(pages.get(after(7), NOW), Some(page(3)));
    assert_eq!(pages.get(after(7), LATER), None);
    assert_eq!(pages.get(after(8), NOW), None);
    let fewer = PetQuery { limit: PageLimit::MIN, ..query_after(7) };
    assert_eq!(pages.get(Subject::Page(fewer), NOW), None);
    assert_eq!(pages.get(Subject::Pet(PetId(7)), NOW), None);

    pages.insert(after(7), LATER, page(4));
    assert_eq!(pages.get(after(7), NOW), None);
    assert_eq!(pages.get(after(7), LATER), Some(page(4)));
}

#[test]
fn the_cache_stays_within_its_bound() {
    const MAX: usize = 1 << 20;
    let pages = PageCache::new(MAX);
    for id in 0..10_000 {
        pages.insert(after(id), NOW, page(1000));
    }
    let cached = (0..10_000).filter(|id| pages.get(after(*id), NOW).is_some()).count();
    assert!(cached * (1000 + OVERHEAD) <= MAX, "{cached} pages are cached");
    assert!(cached > MAX / (1000 + OVERHEAD) / 2, "only {cached} pages are cached");
}

#[test]
fn compressed_forms_are_found_by_the_tag_and_stay_within_the_same_bound() {
    const MAX: usize = 1 << 20;
    let pages = PageCache::new(MAX);
    let tag = |number: usize| HeaderValue::from_str(&format!("\"{number}\"")).unwrap();
    for number in 0..3000 {
        pages.insert(after(0), NOW, page(1000));
        pages.insert_compressed(tag(number), vec![b' '; 1000].into());
    }
    assert_eq!(pages.get_compressed(&tag(2999)).map(|bytes| bytes.len()), Some(1000));
    assert_eq!(pages.get_compressed(&tag(3000)), None);
    assert!(usize::try_from(pages.bytes()).unwrap() <= MAX);
    assert!(pages.len() < MAX / (1000 + OVERHEAD) + 1, "{}", pages.len());
}

#[test]
fn a_page_that_is_asked_for_again_outlasts_a_walk_through_the_catalogue() {
    let pages = PageCache::new(1 << 20);
    let first = Subject::Page(PetQuery::default());
    pages.insert(first, NOW, page(1000));
    for id in 0..10_000 {
        assert!(pages.get(first, NOW).is_some(), "lost after {id} other pages");
        pages.insert(after(id), NOW, page(1000));
    }
}

#[test]
fn without_memory_nothing_is_cached() {
    let pages = PageCache::new(0);
    pages.insert(after(7), NOW, page(0));
    assert_eq!(pages.get(after(7), NOW), None);
}
