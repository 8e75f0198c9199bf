//! HTTP/1.1 on the wire: framing, connections, and bytes that are not HTTP.

use crate::support::{
    KEY,
    catalogue::pet,
    raw::{head, post},
    shared,
};

const AUTHORISED: &str = "authorization: Bearer black-box-suite-0123456789\r\n";

/// Sends bytes that are no request. Asserts a refusal without a body and the end of the connection.
fn refused_bare(bytes: &[u8], status: u16) {
    let mut raw = shared::server().raw();
    raw.send(bytes);
    let refusal = raw.any_answer(false);
    assert_eq!(refusal.status, status, "{refusal:?}");
    assert!(refusal.body.is_empty(), "{refusal:?}");
    raw.is_closed();
}

/// Sends a request with contradictory framing. Asserts a refusal with a body and the end of the connection.
fn refused_in_words(request: &str) {
    let mut raw = shared::server().raw();
    raw.send(request);
    let refusal = raw.answer("", "").refuses(400, "invalid_request");
    assert_eq!(refusal.header("connection"), Some("close"), "{request}: {refusal:?}");
    raw.is_closed();
}

#[test]
fn a_request_names_its_host_once() {
    refused_in_words(&format!("GET /v1/pets HTTP/1.1\r\n{AUTHORISED}\r\n"));
    refused_in_words(&format!("GET /v1/pets HTTP/1.1\r\nhost: a\r\nhost: a\r\n{AUTHORISED}\r\n"));
    refused_in_words("GET /livez HTTP/1.1\r\n\r\n");
}

/// A proxy in between might use the other length and treat the rest as a second request.
#[test]
fn bytes_after_a_body_with_two_framings_are_no_request() {
    let added = pet("framed twice").to_string();
    let (length, smuggled) = (added.len(), head("GET", "/livez", ""));
    for both in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
    ] {
        let more = format!("content-type: application/json\r\n{both}");
        let body = format!("{length:x}\r\n{added}\r\n0\r\n\r\n");
        let mut raw = shared::server().raw();
        raw.send(head("POST", "/v1/pets", &more) + body.as_str() + smuggled.as_str());
        let answer = raw.answer("POST", "/v1/pets").is(201);
        assert_eq!(answer.json()["name"], "framed twice");
        assert_eq!(answer.header("connection"), Some("close"), "{both}: {answer:?}");
        raw.is_closed();
    }
}

#[test]
fn a_chunked_request_keeps_the_connection() {
    let body = pet("chunked").to_string();
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let more = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let mut raw = shared::server().raw();
    for _ in 0..3 {
        raw.send(head("POST", "/v1/pets", more) + chunks.as_str());
        let answer = raw.answer("POST", "/v1/pets").is(201);
        assert_eq!(answer.header("connection"), None, "{answer:?}");
    }
    let wrong = head("POST", "/v1/pets", more).replace(KEY, "wrong-key-wrong-key");
    raw.send(wrong + chunks.as_str() + head("GET", "/livez", "").as_str());
    raw.answer("POST", "/v1/pets").refuses(401, "unauthorized");
    raw.answer("GET", "/livez").is(200);
}

#[test]
fn bytes_that_are_not_http_are_refused_without_a_body() {
    for bytes in [
        &b"hello\r\n\r\n"[..],
        b"GET /v1/pets\r\n\r\n",
        b"GET /v1/pets HTTP/3.0\r\nhost: a\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n",
        b"POST /v1/pets HTTP/1.1\r\nhost: a\r\ncontent-length: five\r\n\r\n",
        b"POST /v1/pets HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/pets HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ] {
        refused_bare(bytes, 400);
    }
}

#[test]
fn a_head_that_is_too_large_is_refused_without_a_body() {
    // The limit is 16 KiB for the whole head.
    let large = format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(16_384));
    refused_bare(large.as_bytes(), 431);

    let mut raw = shared::server().raw();
    raw.send(head("GET", "/livez", &format!("x: {}\r\n", "y".repeat(16_000))));
    raw.answer("GET", "/livez").is(200);
}

#[test]
fn a_malformed_chunk_is_refused_and_adds_nothing() {
    let more = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let server = shared::server();
    let mut raw = server.raw();
    raw.send(head("POST", "/v1/pets", more) + "zz\r\n{}\r\n0\r\n\r\n");
    let refusal = raw.any_answer(false);
    assert_eq!(refusal.status, 400, "{refusal:?}");
    raw.is_closed();
    server.client().get("/livez").send().is(200);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut raw = shared::server().raw();
    let name = "pipelined";
    let requests = [
        head("GET", "/livez", ""),
        post(&pet(name).to_string()),
        head("GET", "/v1/pets/0", ""),
        head("HEAD", "/v1/pets", ""),
        head("GET", "/nope", ""),
    ];
    raw.send(requests.concat());
    raw.answer("GET", "/livez").is(200);
    assert_eq!(raw.answer("POST", "/v1/pets").is(201).json()["name"], name);
    raw.answer("GET", "/v1/pets/0").is(404);
    raw.answer("HEAD", "/v1/pets").is(200);
    raw.answer("GET", "/nope").is(404);
}

#[test]
fn a_client_can_ask_for_the_end_of_the_connection() {
    let mut raw = shared::server().raw();
    raw.send(head("GET", "/livez", "connection: close\r\n"));
    raw.answer("GET", "/livez").is(200);
    raw.is_closed();
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answer() {
    let mut raw = shared::server().raw();
    raw.send(post(&pet("half closed").to_string()));
    raw.send_no_more();
    raw.answer("POST", "/v1/pets").is(201);
    raw.is_closed();
}

#[test]
fn http_1_0_needs_no_host() {
    let mut raw = shared::server().raw();
    raw.send("GET /livez HTTP/1.0\r\n\r\n");
    let text = String::from_utf8(raw.rest()).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 ") || text.starts_with("HTTP/1.1 200 "), "{text}");
}

#[test]
fn the_target_may_be_absolute() {
    let mut raw = shared::server().raw();
    raw.send(head("GET", "http://petstore/v1/pets?limit=1", ""));
    raw.answer("GET", "/v1/pets?limit=1").is(200);
}
