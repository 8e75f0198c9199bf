//! `X-Request-Id`: the client's if it can be used, else a new one.
//!
//! Every answer of the suite is held to have one, and the right one.

use std::collections::HashSet;

use crate::support::{client::Call, shared};

fn calls() -> [Call; 8] {
    let client = shared::server().client();
    [
        client.get("/v1/pets"),
        client.get("/v1/pets").anonymous(),
        client.get("/v1/pets/0"),
        client.get("/v1/nope"),
        client.post("/v1/pets", "{"),
        client.get("/nope"),
        client.get("/"),
        client.head("/livez"),
    ]
}

#[test]
fn a_usable_identifier_comes_back() {
    let longest = "r".repeat(128);
    let uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324";
    for id in ["a", uuid, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", &longest] {
        for call in calls() {
            let answer = call.header("x-request-id", id).send();
            assert_eq!(answer.must("x-request-id"), id);
        }
    }
}

#[test]
fn an_unusable_identifier_is_replaced() {
    let too_long = "r".repeat(129);
    for id in ["", "a b", "a\tb", "é", &too_long] {
        for call in calls() {
            let answer = call.header("x-request-id", id).send();
            assert_ne!(answer.must("x-request-id"), id);
        }
    }
}

#[test]
fn a_new_identifier_is_new() {
    let ids: HashSet<_> = (0..10)
        .flat_map(|_| calls())
        .map(|call| call.send().must("x-request-id").to_owned())
        .collect();
    assert_eq!(ids.len(), 80);
}
