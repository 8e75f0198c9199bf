//! Paths that need no API key.

use serde_json::Value;

use crate::support::{
    shared,
    store::{Kind, on_stores},
};

on_stores! {
    every:
    a_running_service_is_alive_and_ready,
}

const PAGES: [&str; 8] =
    ["/", "/docs", "/docs/", "/catalogue", "/catalogue/", "/openapi.json", "/livez", "/readyz"];

#[test]
fn the_root_redirects_to_the_reference() {
    let answer = shared::server().client().get("/").anonymous().send().is(307);
    assert_eq!(answer.must("location"), "/docs");
}

#[test]
fn a_page_with_a_trailing_slash_redirects_to_the_page() {
    let client = shared::server().client();
    for page in ["/docs", "/catalogue"] {
        let answer = client.get(&format!("{page}/")).anonymous().send().is(308);
        assert_eq!(answer.must("location"), page);
    }
}

fn a_running_service_is_alive_and_ready(kind: Kind) {
    let server = shared::server_on(kind);
    for target in ["/livez", "/readyz"] {
        let answer = server.client().get(target).anonymous().send().is(200);
        assert_eq!(answer.must("content-type"), "application/json");
        assert!(matches!(answer.json(), Value::Object(_)), "{answer:?}");
    }
}

#[test]
fn a_credential_makes_no_difference() {
    let client = shared::server().client();
    for target in PAGES {
        let anonymous = client.get(target).anonymous().send();
        for call in [client.get(target), client.get(target).key("wrong-key-wrong-key")] {
            let answer = call.send();
            assert_eq!(answer.status, anonymous.status);
            assert_eq!(answer.body, anonymous.body, "{target}");
        }
    }
}

#[test]
fn open_pages_can_only_be_read() {
    let client = shared::server().client();
    for target in PAGES {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let refusal = client.call(method, target).anonymous().send();
            let refusal = refusal.refuses(405, "method_not_allowed");
            assert_eq!(refusal.allow(), ["GET", "HEAD"], "{method} {target}");
        }
    }
}

/// Paths of the catalogue need a key, with and without the base path.
#[test]
fn these_and_no_other_addresses_are_open() {
    let client = shared::server().client();
    let document = client.get("/openapi.json").anonymous().send().is(200).json();
    let described = document["paths"].as_object().unwrap().keys();
    let one = described.map(|path| path.replace("{petId}", "1"));
    let both = one.flat_map(|path| [format!("/v1{path}"), path]);
    let open: Vec<_> = both
        .chain(PAGES.map(str::to_owned))
        .filter(|target| client.get(target).anonymous().send().status < 400)
        .collect();
    assert_eq!(open, PAGES);
}
