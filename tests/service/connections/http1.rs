//! HTTP/1.1 on the wire. `faults::framing` has the requests that can be read in two ways.

use crate::support::{
    catalogue::pet,
    raw::{head, post},
    shared,
};

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut raw = shared::server().raw();
    let requests = [
        head("GET", "http://petstore/livez", ""), // the absolute form
        post(&pet("pipelined").to_string()),
        head("GET", "/v1/pets/0", ""),
        head("HEAD", "/v1/pets", ""),
        head("GET", "/nope", "connection: close\r\n"),
    ];
    raw.send(requests.concat());
    raw.answer("GET", "/livez").is(200);
    assert_eq!(raw.answer("POST", "/v1/pets").is(201).json()["name"], "pipelined");
    raw.answer("GET", "/v1/pets/0").is(404);
    raw.answer("HEAD", "/v1/pets").is(200);
    raw.answer("GET", "/nope").is(404);
    raw.is_closed();
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answer() {
    let mut raw = shared::server().raw();
    raw.send(post(&pet("half closed").to_string()));
    raw.send_no_more();
    raw.answer("POST", "/v1/pets").is(201);
    raw.is_closed();
    let mut old = shared::server().raw();
    old.send("GET /livez HTTP/1.0\r\n\r\n");
    let text = String::from_utf8(old.rest()).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 "), "{text}");
}
