//! Entity tags and conditional requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hyper::{Method, StatusCode};
use petstore_domain::{CatalogueVersion, MockPetService, Pet, PetName, PetPage, Versioned};
use petstore_json::pet_to_json;

use super::{MEDIA_TYPE, VERSION, ask, page, request, rex, state};
use crate::{settings::GetPetSunset, state::State};

#[tokio::test]
async fn a_list_or_an_animal_is_read_once_per_version_and_keeps_its_tag() {
    let version = Arc::new(AtomicU64::new(1));
    let now = {
        let version = Arc::clone(&version);
        move || Some(CatalogueVersion(version.load(Ordering::SeqCst).into()))
    };
    // A change overtakes the second read, so the next request reads again.
    let read = {
        let (version, now) = (Arc::clone(&version), now.clone());
        move || {
            let read = now();
            let _ = version.compare_exchange(2, 3, Ordering::SeqCst, Ordering::SeqCst);
            read
        }
    };
    let of_animal = read.clone();
    let mut pets = MockPetService::new();
    pets.expect_version().returning(now);
    pets.expect_list()
        .times(3)
        .returning(move |_| Ok(Versioned { value: PetPage::default(), version: read() }));
    pets.expect_get()
        .times(3)
        .returning(move |_| Ok(Versioned { value: Some(rex()), version: of_animal() }));
    let state = state(pets, GetPetSunset::Off);
    for (path, body) in [("/v1/pets?limit=3", b"[]".to_vec()), ("/v1/pets/7", pet_to_json(&rex()))]
    {
        version.store(1, Ordering::SeqCst);
        let first = ask(&state, request(&Method::GET, path, &[], "")).await;
        let tag = first.header("etag").unwrap();
        for change in 1..=2 {
            version.store(change, Ordering::SeqCst);
            unchanged(&state, path, tag).await;
            let again = ask(&state, request(&Method::GET, path, &[], "")).await;
            assert_eq!((again.status, again.header("etag")), (StatusCode::OK, Some(tag)));
            assert_eq!(again.body, body, "{path}");
        }
    }
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
async fn a_large_animal_is_sent_in_gzip_with_the_name_of_the_coding_and_both_forms_are_weighed() {
    let large = Pet { name: PetName::parse("🐶".repeat(255)).unwrap(), ..rex() };
    let mut pets = MockPetService::new();
    pets.expect_version().return_const(VERSION);
    let found = Versioned { value: Some(large), version: Some(VERSION) };
    pets.expect_get().returning(move |_| Ok(found.clone()));
    let state = state(pets, GetPetSunset::Off);
    ask(&state, request(&Method::GET, "/v1/pets/7", &[], "")).await;
    let (entries, plain) = state.page_cache.size();
    let accept = [("accept-encoding", "gzip")];
    let answer = ask(&state, request(&Method::GET, "/v1/pets/7", &accept, "")).await;
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.starts_with(&[0x1f, 0x8b]), "{:?}", answer.body);
    assert_eq!(state.page_cache.size(), (entries, plain + answer.body.len() as u64));
}

#[tokio::test]
async fn a_static_file_has_one_tag_with_and_without_compression() {
    let state = state(MockPetService::new(), GetPetSunset::Off);
    let whole = ask(&state, request(&Method::GET, "/docs", &[], "")).await;
    let tag = whole.header("etag").unwrap();
    assert_eq!(whole.body, page().content);
    assert_eq!(whole.header("content-security-policy"), Some("default-src 'none'"));
    assert_eq!(whole.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(whole.header("cache-control"), Some("no-cache"));
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
