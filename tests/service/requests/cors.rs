//! CORS: the origins that may call, the headers that they may send, and the headers that they may read.

use std::collections::BTreeSet;

use crate::support::{
    answer::Answer,
    catalogue::{add, id_of, pet},
    client::{Call, Client},
    command::petstore,
    server::{Launch, Server},
    store::Store,
};

const APP: &str = "https://app.example";
const LOCAL: &str = "http://localhost:3000";
const STRANGER: &str = "https://stranger.example";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// Headers that a page may always read (Fetch standard, section 2.2.2).
const SAFE: [&str; 4] = ["cache-control", "content-length", "content-type", "connection"];

fn server(origins: &[&str]) -> (Store, Server) {
    let store = Store::memory();
    let launch = Launch::on(&store);
    let launch = origins.iter().fold(launch, |launch, origin| launch.flag("--cors-origin", origin));
    let server = launch.start();
    (store, server)
}

/// Returns the preflight that a browser sends before a request with a key.
fn preflight(client: &Client, target: &str, origin: &str, method: &str) -> Call {
    let asks = client.options(target).anonymous().header("origin", origin);
    let asks = asks.header("access-control-request-method", method);
    asks.header("access-control-request-headers", "authorization,content-type")
}

/// Returns requests of every kind, with the status of their answers.
fn calls(client: &Client) -> Vec<(Call, u16)> {
    let id = id_of(&add(client, &pet("Rex")));
    let one = format!("/v1/pets/{id}");
    let tag = client.get(&one).send().must("etag").to_owned();
    let list = client.get("/v1/pets?limit=1").send();
    let same = client.get("/v1/pets?limit=1").header("if-none-match", list.must("etag"));
    vec![
        (client.get("/v1/pets?limit=1"), 200),
        (same.clone(), 304),
        (same, 304),
        (client.head("/v1/pets"), 200),
        (client.get("/v1/pets?limit=0"), 400),
        (client.get("/v1/pets").anonymous(), 401),
        (client.get(&one), 200),
        (client.get(&one).header("if-none-match", &tag), 304),
        (client.get("/v1/pets/0"), 404),
        (client.get("/v1/nothing").header("traceparent", TRACEPARENT), 404),
        (client.call("DELETE", "/v1/pets"), 405),
        (client.options("/v1/pets"), 204),
        (client.post("/v1/pets", "{"), 400),
        (client.post("/v1/pets", "{}").content_type("text/plain"), 415),
        (client.get("/v1/store/orders"), 501),
        (client.get("/openapi.json").anonymous(), 200),
        (client.get("/docs").anonymous(), 200),
        (client.get("/livez").anonymous(), 200),
        (client.get("/nothing").anonymous(), 404),
    ]
}

fn vary(answer: &Answer) -> Vec<&str> {
    answer.header("vary").map(|names| names.split(", ").collect()).unwrap_or_default()
}

#[test]
fn without_the_flag_an_origin_changes_nothing() {
    // A server of its own, because animals of other tests would change the tags.
    let (_store, server) = Server::in_memory();
    let client = server.client();
    preflight(&client, "/v1/pets", APP, "GET").send().refuses(401, "unauthorized");
    for (call, status) in calls(&client) {
        let before = call.clone().send().is(status);
        let answer = call.header("origin", APP).send().is(status);
        assert_eq!(answer.lasting_headers(), before.lasting_headers());
        assert_eq!(answer.body, before.body);
        assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")));
        assert!(!vary(&answer).contains(&"origin"), "{answer:?}");
    }
}

#[test]
fn every_answer_says_which_origin_may_read_it() {
    let (_store, server) = server(&[APP, LOCAL]);
    for client in [server.client(), server.http2()] {
        for (call, status) in calls(&client) {
            for origin in [APP, LOCAL] {
                let answer = call.clone().header("origin", origin).send().is(status);
                assert_eq!(answer.must("access-control-allow-origin"), origin);
                assert!(vary(&answer).contains(&"origin"), "{answer:?}");
                assert_eq!(answer.header("access-control-allow-credentials"), None);
            }
            for call in [call.clone(), call.header("origin", STRANGER)] {
                let answer = call.send().is(status);
                assert_eq!(answer.header("access-control-allow-origin"), None);
                assert_eq!(answer.header("access-control-expose-headers"), None);
                assert!(vary(&answer).contains(&"origin"), "{answer:?}");
            }
        }
    }
}

#[test]
fn a_page_may_read_every_header_for_clients() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--cors-origin", "*").flag("--rate-limit", "40").start();
    let client = server.client();
    let mut seen = BTreeSet::new();
    let keyed = client.add(&pet("Rex")).header("idempotency-key", "once");
    keyed.clone().send().is(201);
    let mut answers = vec![keyed.send().is(201), client.get("/v1/pets?limit=1").send().is(200)];
    answers.extend(calls(&client).into_iter().map(|(call, _)| call.send()));
    let limited = (0..200).map(|_| client.get("/v1/pets").send()).find(|it| it.status == 429);
    answers.push(limited.expect("an answer 429"));
    for answer in &answers {
        let exposed: Vec<_> = answer.must("access-control-expose-headers").split(", ").collect();
        assert_eq!(answer.must("access-control-allow-origin"), "*");
        assert!(!vary(answer).contains(&"origin"), "it is the same for all: {answer:?}");
        for (name, _) in &answer.headers {
            // These headers are for the browser alone.
            let for_browsers = name.starts_with("access-control-")
                || name.starts_with("x-content-type")
                || ["vary", "content-security-policy", "referrer-policy"].contains(&name.as_str());
            let readable = SAFE.contains(&name.as_str()) || exposed.contains(&name.as_str());
            assert!(for_browsers || readable, "{name} cannot be read");
            seen.insert(name.clone());
        }
    }
    for name in [
        "etag",
        "link",
        "location",
        "retry-after",
        "deprecation",
        "sunset",
        "x-request-id",
        "traceresponse",
    ] {
        assert!(seen.contains(name), "no answer had {name}");
    }
}

#[test]
fn a_preflight_needs_no_credential_and_is_answered_from_the_row_of_its_address() {
    let (_store, server) = server(&[APP]);
    for client in [server.client(), server.http2()] {
        for (target, method, methods) in [
            ("/v1/pets", "GET", Some("GET, HEAD, POST, OPTIONS")),
            ("/v1/pets?limit=3", "POST", Some("GET, HEAD, POST, OPTIONS")),
            ("/v1/pets/7", "GET", Some("GET, HEAD, OPTIONS")),
            ("/v1/store/orders", "GET", Some("GET, HEAD, OPTIONS")),
            ("/openapi.json", "GET", Some("GET, HEAD")),
            ("/v1/nothing", "GET", None),
        ] {
            let answer = preflight(&client, target, APP, method).send().is(204);
            assert_eq!(answer.must("access-control-allow-origin"), APP);
            assert_eq!(answer.header("access-control-allow-methods"), methods, "{target}");
            let allowed = answer.must("access-control-allow-headers");
            let allowed: Vec<_> = allowed.split(", ").collect();
            for name in [
                "authorization",
                "if-none-match",
                "x-request-id",
                "traceparent",
                "content-type",
                "idempotency-key",
            ] {
                assert!(allowed.contains(&name), "{target}: {allowed:?}");
            }
            assert_eq!(answer.must("access-control-max-age"), "7200");
            assert_eq!(answer.must("vary"), "origin");
        }
        let stranger = preflight(&client, "/v1/pets", STRANGER, "GET").send();
        assert_eq!(stranger.refuses(401, "unauthorized").must("vary"), "origin");
        // An OPTIONS request that is no preflight needs a credential.
        let plain = client.options("/v1/pets").anonymous().header("origin", APP).send();
        assert_eq!(plain.refuses(401, "unauthorized").must("access-control-allow-origin"), APP);
        let asked = client.get("/v1/pets").anonymous().header("origin", APP);
        asked.header("access-control-request-method", "GET").send().refuses(401, "unauthorized");
    }
}

#[test]
fn one_variable_sets_several_origins() {
    let store = Store::memory();
    let launch = Launch::on(&store).env("PETSTORE_CORS_ORIGIN", &format!("{APP},{LOCAL}"));
    let server = launch.start();
    for origin in [APP, LOCAL] {
        let answer = server.client().get("/v1/pets").header("origin", origin).send();
        assert_eq!(answer.must("access-control-allow-origin"), origin);
    }
    for (origin, says) in [
        ("app.example", "an origin is a scheme, a host and perhaps a port"),
        ("https://app.example/", "without a path"),
        ("https://App.example", "use https://app.example"),
        ("https://app.example:443", "use https://app.example"),
    ] {
        petstore(&["serve", "--cors-origin", origin]).finish().fails(2, says);
    }
}
