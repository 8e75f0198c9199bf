//! Each rule for requests, once over the wire.
//!
//! The complete tables are beside the code: `crates/json/src/reader/tests.rs`, and in `crates/http/src`
//! `request/{query,headers,auth}`, `route/tests.rs` and `answer/tests.rs`. `service::openapi` sends allowed and
//! forbidden requests according to the document.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::support::{
    KEY,
    answer::Answer,
    catalogue::{add, everything, id_of, pet, pet_with_status},
    raw::head,
    rules::Sent,
    server::{Launch, Server},
    shared,
    store::Store,
};

#[track_caller]
fn announces_its_end(answer: &Answer, sunset: Option<&str>) {
    assert_eq!(answer.must("deprecation"), "@1795132800");
    assert_eq!(answer.header("sunset"), sunset);
    let link = "</v1/pets?status=available>; rel=\"successor-version\"";
    assert_eq!(answer.all("link"), [link]);
}

#[test]
fn a_request_is_refused_for_the_first_rule_that_it_breaks() {
    let (_store, server) = Server::in_memory();
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
            (client.get("/v1"), 404, "route_not_found"),
            (client.get("/v1/pets/"), 404, "route_not_found"),
            (client.get("/v1/Pets"), 404, "route_not_found"),
            (client.get("/v1/pets/1/"), 404, "route_not_found"),
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
fn an_unknown_method_of_a_path_is_refused_with_the_allowed_ones() {
    let client = shared::server().client();
    let reading = ["GET", "HEAD", "OPTIONS"];
    for (target, has) in [
        ("/v1/pets", &["GET", "HEAD", "OPTIONS", "POST"][..]),
        ("/v1/pets/1", &reading),
        ("/v1/pets/abc", &reading),
        ("/v1/store/orders", &reading),
    ] {
        for method in ["DELETE", "PATCH", "TRACE", "BREW"] {
            let refusal = client.call(method, target).send().refuses(405, "method_not_allowed");
            assert_eq!(refusal.allow(), has, "{method} {target}");
        }
        assert_eq!(client.options(target).send().is(204).allow(), has, "{target}");
    }
}

#[test]
fn a_target_is_taken_as_it_is_written() {
    for (method, target, status) in [
        ("GET", "/docs/../v1/pets", 404),
        ("GET", "/v1/../docs", 404),
        ("GET", "/v1/pets/..", 404),
        ("GET", "/v1/pets%2F1", 404),
        ("GET", "/v1%2Fpets", 404),
        ("OPTIONS", "*", 404),
    ] {
        let mut raw = shared::server().raw();
        raw.send(head(method, target, ""));
        raw.answer(method, target).is(status);
    }
}

#[test]
fn a_refusal_of_the_head_does_not_wait_for_the_body() {
    let length = "content-length: 1000\r\n";
    for (method, target, headers, status) in [
        ("POST", "/v1/nope", "content-type: application/json\r\n", 404),
        ("PUT", "/v1/pets", "content-type: application/json\r\n", 405),
        ("POST", "/v1/pets", "content-type: text/plain\r\n", 415),
        ("POST", "/v1/pets", "", 415),
    ] {
        let mut raw = shared::server().raw();
        raw.send(head(method, target, &format!("{headers}{length}")));
        raw.answer(method, target).is(status);
    }
    let mut raw = shared::server().raw();
    raw.send(format!("POST /v1/pets HTTP/1.1\r\nhost: petstore\r\n{length}\r\n"));
    let sent = Sent { credential: Some(false), ..Sent::new("POST", "/v1/pets") };
    raw.answer_to(&sent).refuses(401, "unauthorized");
}

#[test]
fn only_the_plain_form_of_an_identifier_names_an_animal() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    // The animal exists, so that `01` could be taken for its identifier.
    assert_eq!(id_of(&add(&client, &pet("first"))), 1);
    let absent = client.get("/v1/pets/9223372036854775807").send().refuses(404, "pet_not_found");
    for id in [
        "0",
        "-1",
        "-0",
        "01",
        "+1",
        "%2B1",
        "1.0",
        "1e0",
        "0x1",
        "1%20",
        "%201",
        "1%00",
        "%FF",
        "%D9%A1",
        "1,2",
        "1;v=2",
        "abc",
        "9223372036854775808",
    ] {
        let refusal = client.get(&format!("/v1/pets/{id}")).send().refuses(404, "pet_not_found");
        announces_its_end(&refusal, Some("Thu, 05 Dec 2030 00:00:00 GMT"));
        assert_eq!(refusal.text(), absent.text(), "{id}");
        assert_eq!(refusal.lasting_headers(), absent.lasting_headers(), "{id}");
    }
}

#[test]
fn only_get_pet_announces_its_end() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    add(&client, &pet_with_status("ending", "sold"));
    for (call, status) in [
        (client.get("/v1/pets/1"), 200),
        (client.head("/v1/pets/1").header("if-none-match", "*"), 304),
        (client.get("/v1/pets/1").anonymous(), 401),
        (client.get("/v1/pets/1?x=1"), 400),
    ] {
        announces_its_end(&call.send().is(status), Some("Thu, 05 Dec 2030 00:00:00 GMT"));
    }
    for call in [
        client.get("/v1/pets?limit=1"),
        client.get("/v1/store/orders"),
        client.get("/v1/pets/1/2"),
        client.add(&pet("not ending")),
        client.get("/livez"),
    ] {
        let answer = call.send();
        let announced = ["deprecation", "sunset"].map(|name| answer.header(name));
        assert_eq!((announced, answer.link("successor-version")), ([None; 2], None), "{answer:?}");
    }
}

#[test]
fn after_its_end_get_pet_is_gone_and_the_rest_works() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--get-pet-sunset", "now").start();
    let client = server.client();
    let added = client.add(&pet("last")).send().is(201);
    assert_eq!(added.header("location"), None);
    for target in ["/v1/pets/1", "/v1/pets/abc", "/v1/pets/1?x=1"] {
        announces_its_end(&client.get(target).send().refuses(410, "operation_removed"), None);
        announces_its_end(&client.head(target).send().is(410), None);
        announces_its_end(&client.get(target).anonymous().send().is(401), None);
        client.options(target).send().is(204);
        client.call("DELETE", target).send().refuses(405, "method_not_allowed");
    }
    assert_eq!(everything(&client), [added.json()]);
}

#[test]
fn head_answers_as_get_does_and_nothing_follows_it() {
    let (_store, server) = Server::in_memory();
    add(&server.client(), &pet("headed"));
    let mut raw = server.raw();
    for target in ["/", "/docs", "/livez", "/nope", "/v1/pets", "/v1/pets/1", "/v1/store/orders"] {
        for client in [server.client(), server.http2()] {
            let (get, head) = (client.get(target).send(), client.head(target).send());
            assert_eq!(head.status, get.status, "{target}");
            assert_eq!(head.lasting_headers(), get.lasting_headers(), "{target}");
            assert_eq!(head.must("content-length"), get.body.len().to_string());
        }
        // A client would read a body as the beginning of the next answer.
        raw.send(head("HEAD", target, ""));
        raw.answer("HEAD", target);
        raw.send(head("GET", "/livez", ""));
        raw.answer("GET", "/livez").is(200);
    }
}

#[test]
fn the_body_of_a_get_is_skipped() {
    let mut raw = shared::server().raw();
    for _ in 0..2 {
        raw.send(head("GET", "/v1/pets", "content-length: 5\r\n") + "what?");
        raw.answer("GET", "/v1/pets").is(200);
    }
}

/// The rules for every answer require that it repeats a usable identifier and never an unusable one.
#[test]
fn a_usable_request_identifier_comes_back() {
    let client = shared::server().client();
    let (longest, too_long) = ("r".repeat(128), "r".repeat(129));
    for id in ["a", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", &longest, "", "a b", "é", &too_long] {
        for call in
            [client.get("/v1/pets"), client.get("/v1/pets").anonymous(), client.get("/nope")]
        {
            call.header("x-request-id", id).send();
        }
    }
}

#[test]
fn a_known_tag_is_answered_without_a_body() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    add(&client, &pet("known"));
    for target in ["/v1/pets", "/v1/pets/1"] {
        let tag = client.get(target).send().must("etag").to_owned();
        let strong = tag.strip_prefix("W/").unwrap();
        for (known, status) in [
            (tag.as_str(), 304),
            (strong, 304),
            (&format!("\"other\",{tag} , \"x,y\""), 304),
            ("*", 304),
            ("\"other\"", 200),
            (strong.trim_matches('"'), 200),
            ("", 200),
        ] {
            for call in [client.get(target), client.head(target)] {
                let answer = call.header("if-none-match", known).send().is(status);
                assert_eq!(answer.must("etag"), tag, "{known}");
            }
        }
        let lines = client.get(target).header("if-none-match", "\"other\"");
        lines.header("if-none-match", &tag).send().is(304);
    }
}

#[test]
fn a_body_of_more_than_1_kib_is_compressed_on_request() {
    let (_store, server) = Server::in_memory();
    add(&server.client(), &pet(&"𓃠".repeat(255)));
    for client in [server.client(), server.http2()] {
        for target in ["/v1/pets", "/v1/pets/1", "/openapi.json", "/docs"] {
            let plain = client.get(target).send().is(200);
            let (identity, tag) = (plain.lasting_headers(), plain.must("etag"));
            assert_eq!(plain.header("content-encoding"), None);
            // The second answer comes from the cache.
            for _ in 0..2 {
                let answer = client.get(target).header("accept-encoding", "gzip").send().is(200);
                assert_eq!(answer.must("content-encoding"), "gzip");
                let mut content = Vec::new();
                GzDecoder::new(answer.body.as_slice()).read_to_end(&mut content).unwrap();
                assert!(content == plain.body, "{target}");
                assert_eq!(answer.must("content-length"), answer.body.len().to_string());
                assert_eq!(answer.must("etag"), tag);
                let known = client.get(target).header("accept-encoding", "gzip");
                known.header("if-none-match", tag).send().is(304);
            }
            let other = client.get(target).header("accept-encoding", "br, gzip;q=0").send();
            assert_eq!(other.lasting_headers(), identity);
        }
        for call in [client.get("/v1/pets?limit=1&status=sold"), client.get("/v1/nope")] {
            let answer = call.header("accept-encoding", "gzip").send();
            assert_eq!(answer.header("content-encoding"), None);
        }
    }
}
