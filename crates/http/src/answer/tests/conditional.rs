//! Entity tags and conditional requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hyper::{Method, StatusCode};
use petstore_domain::{CatalogueVersion, MockPetService, PetPage, Versioned};
use petstore_json::pet_to_json;

use super::{MEDIA_TYPE, VERSION, ask, page, request, rex, state, untouched, with_rex};
use crate::{settings::GetPetSunset, state::State};

/// Returns a version that the test can set, and a function that reads it.
fn changing_version() -> (Arc<AtomicU64>, impl Fn() -> Option<CatalogueVersion> + Clone) {
    let version = Arc::new(AtomicU64::new(1));
    let read = Arc::clone(&version);
    (version, move || Some(CatalogueVersion(read.load(Ordering::SeqCst).into())))
}

#[tokio::test]
async fn a_list_is_read_once_per_version_even_for_conditional_requests() {
    let (version, now) = changing_version();
    let mut pets = MockPetService::new();
    pets.expect_version().returning(now.clone());
    pets.expect_list()
        .times(2)
        .returning(move |_| Ok(Versioned { value: PetPage::default(), version: now() }));
    let state = state(pets, GetPetSunset::Off);
    let first = ask(&state, request(&Method::GET, "/v1/pets?limit=3", &[], "")).await;
    assert_eq!(first.status, StatusCode::OK);
    for change in 1..=2 {
        version.store(change, Ordering::SeqCst);
        unchanged(&state, "/v1/pets?limit=3", first.header("etag").unwrap()).await;
    }
}

#[tokio::test]
async fn a_new_next_link_changes_the_tag_of_a_page_but_a_new_version_does_not() {
    let mut pets = MockPetService::new();
    pets.expect_version().returning(|| None);
    let mut reads = 0_u32;
    pets.expect_list().returning(move |_| {
        reads += 1;
        let version = (reads != 2).then(|| CatalogueVersion(reads.into()));
        Ok(Versioned { value: PetPage { pets: vec![rex()], more: reads == 4 }, version })
    });
    let state = state(pets, GetPetSunset::Off);
    let mut answers = Vec::new();
    for _ in 1..=4 {
        answers.push(ask(&state, request(&Method::GET, "/v1/pets?limit=1", &[], "")).await);
    }
    let tags: Vec<_> = answers.iter().map(|answer| answer.header("etag").unwrap()).collect();
    assert!(tags[0] == tags[1] && tags[1] == tags[2], "{tags:?}");
    assert_eq!(answers[2].body, answers[3].body);
    assert_ne!(tags[2], tags[3]);
}

#[tokio::test]
async fn an_animal_is_read_once_per_version_and_keeps_its_tag() {
    let (version, now) = changing_version();
    let mut pets = MockPetService::new();
    pets.expect_version().returning(now.clone());
    pets.expect_get()
        .times(2)
        .returning(move |_| Ok(Versioned { value: Some(rex()), version: now() }));
    let state = state(pets, GetPetSunset::Off);
    let mut tags = Vec::new();
    for change in 1..=2 {
        version.store(change, Ordering::SeqCst);
        for _ in 0..3 {
            let answer = ask(&state, request(&Method::GET, "/v1/pets/7", &[], "")).await;
            assert_eq!(answer.status, StatusCode::OK);
            assert_eq!(answer.body, pet_to_json(&rex()));
            assert!(answer.header("deprecation").is_some());
            tags.push(answer.header("etag").unwrap().to_owned());
        }
    }
    tags.dedup();
    assert_eq!(tags.len(), 1, "{tags:?}");
}

async fn unchanged(state: &State, path: &str, tag: &str) {
    for method in [Method::GET, Method::HEAD] {
        let again = ask(state, request(&method, path, &[("if-none-match", tag)], "")).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        assert_eq!(again.header("etag"), Some(tag));
        assert!(again.body.is_empty());
    }
}

#[tokio::test]
async fn a_tag_or_an_asterisk_matches_an_animal_but_no_missing_animal() {
    for version in [None, Some(VERSION)] {
        let state = state(with_rex(version), GetPetSunset::Off);
        let first = ask(&state, request(&Method::GET, "/v1/pets/7", &[], "")).await;
        let tag = first.header("etag").unwrap();
        unchanged(&state, "/v1/pets/7", tag).await;
        for condition in [tag, "*"] {
            for (path, status) in [("/v1/pets/7", 304), ("/v1/pets/8", 404)] {
                let headers = [("if-none-match", condition)];
                let answer = ask(&state, request(&Method::GET, path, &headers, "")).await;
                assert_eq!(answer.status.as_u16(), status, "{version:?} {condition} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_static_file_has_one_tag_with_and_without_compression() {
    let state = state(untouched(), GetPetSunset::Off);
    let whole = ask(&state, request(&Method::GET, "/docs", &[], "")).await;
    let tag = whole.header("etag").unwrap();
    assert_eq!(whole.body, page().content);
    for (accepted, coding) in [("br", None), ("gzip", Some("gzip"))] {
        let accept = ("accept-encoding", accepted);
        let answer = ask(&state, request(&Method::GET, "/docs", &[accept], "")).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.body == whole.body, coding.is_none());
        assert_eq!(answer.header("etag"), Some(tag));
        assert_eq!(answer.header("content-encoding"), coding);
        assert_eq!(answer.header("content-type"), Some(MEDIA_TYPE));
        for (condition, status) in [
            (tag, StatusCode::NOT_MODIFIED),
            ("*", StatusCode::NOT_MODIFIED),
            ("\"another\"", StatusCode::OK),
        ] {
            let headers = [accept, ("if-none-match", condition)];
            let again = ask(&state, request(&Method::GET, "/docs", &headers, "")).await;
            assert_eq!((again.status, again.header("etag")), (status, Some(tag)));
            assert_eq!(again.header("vary"), Some("accept-encoding"));
            assert_eq!(again.body.is_empty(), status == StatusCode::NOT_MODIFIED);
        }
    }
}
