//! The order in which a request is judged: with several things wrong, the first one is told.

use crate::support::{KEY, raw, rules::Sent, shared};

const BAD_JSON: &str = "{";

#[test]
fn the_credential_comes_before_everything_else() {
    let client = shared::server().client();
    let large = " ".repeat(70_000);
    for call in [
        client.get("/v1/nope"),
        client.call("DELETE", "/v1/pets"),
        client.get("/v1/store/orders"),
        client.get("/v1/pets?limit=0"),
        client.get("/v1/pets/0"),
        client.post("/v1/pets", BAD_JSON),
        client.post("/v1/pets", BAD_JSON).content_type("text/plain"),
        client.post("/v1/pets", BAD_JSON).header("idempotency-key", ""),
        client.post("/v1/pets", large.as_str()),
    ] {
        call.clone().anonymous().send().refuses(401, "unauthorized");
        call.key("wrong-key-wrong-key").send().refuses(401, "unauthorized");
    }
}

#[test]
fn the_credential_comes_before_any_byte_of_the_body() {
    let mut raw = shared::server().raw();
    raw.send("POST /v1/pets HTTP/1.1\r\nhost: petstore\r\ncontent-length: 1000\r\n\r\n");
    let sent = Sent { credential: Some(false), ..Sent::new("POST", "/v1/pets") };
    raw.answer_to(&sent).refuses(401, "unauthorized");
}

#[test]
fn the_rest_comes_in_the_order_of_the_decisions() {
    let client = shared::server().client();
    let large = " ".repeat(70_000);
    let post = |target: &str, body: &str| client.post(target, body);
    for (call, status, code) in [
        // Route, then method.
        (post("/v1/nope?x=1", &large).content_type("text/plain"), 404, "route_not_found"),
        (client.call("PUT", "/v1/nope"), 404, "route_not_found"),
        // Method, then media type, size, query, body.
        (
            client.call("PUT", "/v1/pets?x=1").content_type("text/plain").body(large.as_str()),
            405,
            "method_not_allowed",
        ),
        (post("/v1/pets/0?x=1", BAD_JSON), 405, "method_not_allowed"),
        (post("/v1/store/orders?x=1", BAD_JSON), 405, "method_not_allowed"),
        // Media type, then size, query, body.
        (post("/v1/pets?x=1", &large).content_type("text/plain"), 415, "unsupported_media_type"),
        (
            post("/v1/pets", &large).header("content-encoding", "gzip"),
            415,
            "unsupported_media_type",
        ),
        (
            post("/v1/pets?x=1", BAD_JSON).content_type("text/plain").header("idempotency-key", ""),
            415,
            "unsupported_media_type",
        ),
        // Size, then query, idempotency key, body.
        (post("/v1/pets?x=1", &large).header("idempotency-key", ""), 413, "body_too_large"),
        // Query, then idempotency key, body.
        (post("/v1/pets?x=1", BAD_JSON).header("idempotency-key", ""), 400, "invalid_query"),
        (post("/v1/pets", BAD_JSON).header("idempotency-key", ""), 400, "invalid_idempotency_key"),
        (post("/v1/pets", BAD_JSON).header("idempotency-key", "judged"), 400, "invalid_json"),
        // Query, then the resource.
        (client.get("/v1/pets/0?x=1"), 400, "invalid_query"),
        (client.get("/v1/pets/abc?x=1"), 400, "invalid_query"),
        (client.get("/v1/pets/abc"), 404, "pet_not_found"),
    ] {
        call.send().refuses(status, code);
    }
}

#[test]
fn what_the_head_decides_does_not_wait_for_the_body() {
    let length = "content-length: 1000\r\n";
    let json = "content-type: application/json\r\n";
    for (method, target, headers, status) in [
        ("POST", "/v1/nope", json, 404),
        ("PUT", "/v1/pets", json, 405),
        ("POST", "/v1/pets", "content-type: text/plain\r\n", 415),
    ] {
        let mut raw = shared::server().raw();
        raw.send(raw::head(method, target, &format!("{headers}{length}")));
        raw.answer(method, target).is(status);
    }
}

#[test]
fn outside_v1_the_address_alone_is_judged() {
    let client = shared::server().client();
    for call in [
        client.get("/nope"),
        client.get("/nope").key("wrong-key-wrong-key"),
        client.get("/nope").anonymous(),
        client.call("DELETE", "/nope"),
        client.post("/pets", BAD_JSON),
        client.get(&format!("/nope?api_key={KEY}")),
    ] {
        call.send().refuses(404, "route_not_found");
    }
}
