//! Each rule for requests, once over the wire.
//!
//! The complete tables are beside the code: `crates/json/src/reader/tests.rs`, and in `crates/http/src`
//! `request/{query,headers,auth}`, `route/tests.rs` and `answer/tests.rs`. `service::openapi` sends allowed and
//! forbidden requests according to the document.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::support::{
    KEY,
    catalogue::{add, everything, pet},
    raw::head,
    rules::Sent,
    server::Server,
};

#[test]
fn a_request_is_refused_for_the_first_broken_rule() {
    let server = Server::in_memory();
    let large = " ".repeat(70_000);
    for client in [server.client(), server.http2()] {
        let post = |body: &str| client.post("/v1/pets", body);
        let refused_key = |call: &crate::support::client::Call| call.clone().key("wrong-key");
        for (call, status, code) in [
            (client.get("/nope").anonymous(), 404, "route_not_found"),
            (client.get("//v1/pets").anonymous(), 404, "route_not_found"),
            (client.get("/v1x/pets").key("wrong-key"), 404, "route_not_found"),
            (client.get(&format!("/nope?api_key={KEY}")), 404, "route_not_found"),
            (post("{").anonymous(), 401, "unauthorized"),
            (refused_key(&post(&large).content_type("text/plain")), 401, "unauthorized"),
            (refused_key(&client.call("BREW", "/v1/nope?x=1")), 401, "unauthorized"),
            (client.call("PUT", "/v1/nope?x=1").body(large.as_str()), 404, "route_not_found"),
            (client.call("PUT", "/v1/pets?x=1").body(large.as_str()), 405, "method_not_allowed"),
            (client.call("get", "/v1/pets"), 405, "method_not_allowed"),
            (client.post("/v1/store/orders?x=1", "{"), 405, "method_not_allowed"),
            (client.get("/v1/store/orders"), 501, "not_implemented"),
            (post(&large).content_type("text/plain"), 415, "unsupported_media_type"),
            (post("").without("content-type"), 415, "unsupported_media_type"),
            (post(REX).header("content-type", "application/json"), 415, "unsupported_media_type"),
            (post(REX).header("content-encoding", "br"), 415, "unsupported_media_type"),
            (post(&large).header("idempotency-key", ""), 413, "body_too_large"),
            (client.post("/v1/pets?x=1", "{").header("idempotency-key", ""), 400, "invalid_query"),
            (client.get("/v1/pets/0").header("if-none-match", "*"), 404, "pet_not_found"),
            (client.get("/v1/pets/abc?x=1"), 400, "invalid_query"),
            (client.get("/v1/pets?limit=5&%6Cimit=5"), 400, "invalid_query"),
            (client.get(&format!("/v1/pets?access_token={KEY}")), 400, "invalid_query"),
            (post("{").header("idempotency-key", ""), 400, "invalid_idempotency_key"),
            (post("{").header("idempotency-key", "one"), 400, "invalid_json"),
            (post(&"[".repeat(30_000)), 400, "invalid_json"),
            (post(r#"{"name":"Rex"}"#).header("idempotency-key", "one"), 400, "invalid_pet"),
        ] {
            call.send().refuses(status, code);
        }
    }
    assert!(everything(&server.client()).is_empty());
}

const REX: &str = r#"{"name":"Rex","categoryId":1}"#;

#[test]
fn a_refusal_of_the_head_does_not_wait_for_the_body() {
    let server = Server::in_memory();
    let length = "content-length: 1000\r\n";
    for (method, target, headers, status) in [
        ("POST", "/v1/nope", "content-type: application/json\r\n", 404),
        ("PUT", "/v1/pets", "content-type: application/json\r\n", 405),
        ("POST", "/v1/pets", "content-type: text/plain\r\n", 415),
        ("POST", "/v1/pets", "", 415),
    ] {
        let mut raw = server.raw();
        raw.send(head(method, target, &format!("{headers}{length}")));
        raw.answer(method, target).is(status);
    }
    let mut raw = server.raw();
    raw.send(format!("POST /v1/pets HTTP/1.1\r\nhost: petstore\r\n{length}\r\n"));
    let sent = Sent { credential: Some(false), ..Sent::new("POST", "/v1/pets") };
    raw.answer_to(&sent).refuses(401, "unauthorized");
}

#[test]
fn a_body_of_more_than_1_kib_is_compressed_on_request() {
    let server = Server::in_memory();
    add(&server.client(), &pet(&"𓃠".repeat(255)));
    for client in [server.client(), server.http2()] {
        for target in ["/v1/pets", "/v1/pets/1", "/openapi.json", "/docs"] {
            let plain = client.get(target).send().is(200);
            // The second answer comes from the cache.
            for _ in 0..2 {
                let answer = client.get(target).header("accept-encoding", "gzip").send().is(200);
                assert_eq!(answer.must("content-encoding"), "gzip");
                let mut content = Vec::new();
                GzDecoder::new(answer.body.as_slice()).read_to_end(&mut content).unwrap();
                assert!(content == plain.body, "{target}");
                assert_eq!(answer.must("etag"), plain.must("etag"));
            }
        }
    }
}
