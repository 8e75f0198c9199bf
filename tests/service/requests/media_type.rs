//! Accepted bodies: JSON in UTF-8, as it is.

use crate::support::{catalogue::pet, client::Call, raw, shared};

fn post() -> Call {
    shared::server().client().post("/v1/pets", pet("typed").to_string())
}

#[test]
fn json_in_utf_8_is_taken_however_it_is_written() {
    for content_type in [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        "application/json; charset=utf-8",
        "application/json; charset=UTF-8",
        "application/json; Charset=Utf-8",
        "application/json; charset=\"utf-8\"",
        "application/json ; charset=utf-8",
    ] {
        let answer = post().content_type(content_type).send();
        assert_eq!(answer.status, 201, "{content_type}: {answer:?}");
    }
}

#[test]
fn another_type_is_refused_with_what_is_accepted() {
    for content_type in [
        "",
        "text/plain",
        "text/json",
        "application/*",
        "*/*",
        "application/jsonx",
        "application/json5",
        "application/vnd.api+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin1",
        "application/json; charset=utf-16",
        "application/json; charset=",
        "application/json, application/json",
        "json",
    ] {
        let refusal = post().content_type(content_type).send();
        assert_eq!(refusal.status, 415, "{content_type}: {refusal:?}");
        assert_eq!(refusal.json()["code"], "unsupported_media_type");
        assert_eq!(refusal.must("accept-post"), "application/json");
    }
}

#[test]
fn no_type_at_all_is_refused_with_or_without_a_body() {
    post().without("content-type").send().refuses(415, "unsupported_media_type");
    post().without("content-type").body("").send().refuses(415, "unsupported_media_type");
    let mut raw = shared::server().raw();
    raw.send(raw::head("POST", "/v1/pets", ""));
    raw.answer("POST", "/v1/pets").refuses(415, "unsupported_media_type");
}

#[test]
fn a_type_that_comes_twice_is_refused() {
    for second in ["application/json", "text/plain"] {
        let refusal = post().header("content-type", second).send();
        refusal.refuses(415, "unsupported_media_type");
    }
}

#[test]
fn an_encoded_body_is_refused() {
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, identity", "identity, gzip", "GZIP"] {
        let refusal = post().header("content-encoding", encoding).send();
        assert_eq!(refusal.status, 415, "{encoding}: {refusal:?}");
        assert_eq!(refusal.json()["code"], "unsupported_media_type");
    }
    post().header("content-encoding", "identity").send().is(201);
    let twice = post().header("content-encoding", "identity").header("content-encoding", "gzip");
    twice.send().refuses(415, "unsupported_media_type");
}
