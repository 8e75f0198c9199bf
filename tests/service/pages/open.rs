//! Paths that need no API key.

use serde_json::Value;

use crate::support::{
    server::Server,
    store::{Kind, on_stores},
};

on_stores! {
    every:
    a_running_service_is_alive_and_ready,
}

const PAGES: [&str; 8] =
    ["/", "/docs", "/docs/", "/catalogue", "/catalogue/", "/openapi.json", "/livez", "/readyz"];

fn a_running_service_is_alive_and_ready(kind: Kind) {
    let (_store, server) = Server::start(kind);
    for target in ["/livez", "/readyz"] {
        let answer = server.client().get(target).anonymous().send().is(200);
        assert_eq!(answer.must("content-type"), "application/json");
        assert!(matches!(answer.json(), Value::Object(_)), "{answer:?}");
    }
}

/// The paths of the operations are open neither under the base path nor without it.
#[test]
fn only_pages_the_openapi_document_and_health_checks_are_open() {
    let server = Server::in_memory();
    let client = server.client();
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
