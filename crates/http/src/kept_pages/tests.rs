use std::sync::Arc;

use hyper::header::HeaderValue;
use petstore_domain::{CatalogueVersion, PageLimit, PetId, PetQuery};

use super::{EncodedPage, KeptPages, OVERHEAD};
use crate::request_id::X_REQUEST_ID;

const NOW: CatalogueVersion = CatalogueVersion(1);
const LATER: CatalogueVersion = CatalogueVersion(2);

fn after(id: i64) -> PetQuery {
    PetQuery { after: Some(PetId(id)), ..PetQuery::default() }
}

fn page(length: usize) -> Arc<EncodedPage> {
    let tag = HeaderValue::from_static("\"tag\"");
    Arc::new(EncodedPage::new(vec![b' '; length].into(), tag, None))
}

#[test]
fn a_page_is_found_by_its_query_in_its_state_alone() {
    let pages = KeptPages::new(1 << 20);
    pages.keep(after(7), NOW, page(3));
    assert_eq!(pages.find(&after(7), NOW), Some(page(3)));
    assert_eq!(pages.find(&after(7), LATER), None);
    assert_eq!(pages.find(&after(8), NOW), None);
    let fewer = PetQuery { limit: PageLimit::MIN, ..after(7) };
    assert_eq!(pages.find(&fewer, NOW), None);

    pages.keep(after(7), LATER, page(4));
    assert_eq!(pages.find(&after(7), NOW), None);
    assert_eq!(pages.find(&after(7), LATER), Some(page(4)));
}

#[test]
fn what_is_kept_stays_within_its_bound() {
    const MOST: usize = 1 << 20;
    let pages = KeptPages::new(MOST);
    for id in 0..10_000 {
        pages.keep(after(id), NOW, page(1000));
    }
    let kept = (0..10_000).filter(|id| pages.find(&after(*id), NOW).is_some()).count();
    assert!(kept * (1000 + OVERHEAD) <= MOST, "{kept} pages are kept");
    assert!(kept > MOST / (1000 + OVERHEAD) / 2, "only {kept} pages are kept");
}

#[test]
fn a_page_that_is_asked_for_again_outlasts_a_walk_through_the_catalogue() {
    let pages = KeptPages::new(1 << 20);
    pages.keep(PetQuery::default(), NOW, page(1000));
    for id in 0..10_000 {
        assert!(pages.find(&PetQuery::default(), NOW).is_some(), "lost after {id} other pages");
        pages.keep(after(id), NOW, page(1000));
    }
}

#[test]
fn the_headers_of_a_page_take_the_request_s_id_without_growing() {
    let [tag, next] = ["\"tag\"", "</v1/pets>; rel=\"next\""].map(HeaderValue::from_static);
    let mut answer = EncodedPage::new("[]".into(), tag, Some(next)).answer(None);
    let room = answer.headers().capacity();
    answer.headers_mut().insert(X_REQUEST_ID, HeaderValue::from_static("7"));
    assert_eq!(answer.headers().capacity(), room);
    assert_eq!(answer.headers().get_all(X_REQUEST_ID).iter().count(), 1);
}

#[test]
fn without_memory_nothing_is_kept() {
    let pages = KeptPages::new(0);
    pages.keep(PetQuery::default(), NOW, page(0));
    assert_eq!(pages.find(&PetQuery::default(), NOW), None);
}
