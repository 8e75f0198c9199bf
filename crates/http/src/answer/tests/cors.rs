//! CORS: the origins that may call, the headers that they may send, and the headers that they may read.

use hyper::{Method, StatusCode};
use petstore_domain::{Added, MockPetService, Versioned};

use super::{Answer, JSON, REX, VERSION, ask, page, request, rex, state};
use crate::{
    settings::{GetPetSunset, Settings},
    state::State,
};

const APP: &str = "https://app.example";
const LOCAL: &str = "http://localhost:3000";
const STRANGERS: [&str; 7] = [
    "https://stranger.example",
    "https://app.example:8443",
    "http://app.example",
    "https://app.example.evil.example",
    "https://evil.example/https://app.example",
    "null",
    "",
];
const TRACE: (&str, &str) =
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");

fn service(origins: &[&str]) -> State {
    let mut pets = MockPetService::new();
    pets.expect_version().returning(|| Some(VERSION));
    pets.expect_get().returning(|_| Ok(Versioned { value: Some(rex()), version: Some(VERSION) }));
    pets.expect_add().returning(|_, _| Ok(Added::Replayed(rex())));
    let cors_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    let static_files = vec![page()];
    let settings = Settings { static_files, cors_origins, ..Settings::default() };
    State::new(state(pets, GetPetSunset::Date).ports, settings, None)
}

/// A request with a header, and the status of its answer.
type Call = (Method, &'static str, (&'static str, &'static str), u16);

/// Requests with answers of every kind: success, not modified, and refusals.
const CALLS: [Call; 13] = [
    (Method::GET, "/v1/pets/7", JSON, 200),
    (Method::HEAD, "/v1/pets/7", JSON, 200),
    (Method::GET, "/v1/pets/7", ("if-none-match", "*"), 304),
    (Method::POST, "/v1/pets", JSON, 201),
    (Method::GET, "/v1/pets?limit=0", JSON, 400),
    (Method::GET, "/v1/pets", ("authorization", "twice"), 401),
    (Method::GET, "/v1/nothing", TRACE, 404),
    (Method::DELETE, "/v1/pets", JSON, 405),
    (Method::OPTIONS, "/v1/pets", JSON, 204),
    (Method::POST, "/v1/pets", ("content-type", "text/plain"), 415),
    (Method::GET, "/openapi.json", JSON, 200),
    (Method::GET, "/docs", JSON, 200),
    (Method::OPTIONS, "/docs", JSON, 405),
];

/// Sends `asks`, one of [`CALLS`], with the header `Origin` if `origin` is given.
async fn call(service: &State, asks: &Call, origin: Option<&str>) -> Answer {
    let (method, path, header, status) = asks;
    let headers: Vec<_> = [*header].into_iter().chain(origin.map(|it| ("origin", it))).collect();
    let answer = ask(service, request(method, path, &headers, REX)).await;
    assert_eq!(answer.status.as_u16(), *status, "{method} {path}");
    answer
}

fn names<'a>(answer: &'a Answer, header: &str) -> Vec<&'a str> {
    answer.header(header).map(|names| names.split(", ").collect()).unwrap_or_default()
}

#[tokio::test]
async fn without_the_setting_an_origin_changes_nothing() {
    let service = service(&[]);
    for asks in &CALLS {
        let before = call(&service, asks, None).await;
        let answer = call(&service, asks, Some(APP)).await;
        let lasting = |answer: &Answer| {
            let mut headers = answer.headers.clone();
            headers.remove("x-request-id");
            headers.remove("traceresponse");
            headers
        };
        assert_eq!(lasting(&answer), lasting(&before));
        assert_eq!(answer.body, before.body);
    }
    let preflight = preflight(&service, "/v1/pets", APP, "GET").await;
    assert_eq!(preflight.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn every_answer_names_the_origin_that_may_read_the_answer() {
    let service = service(&[APP, LOCAL]);
    for asks in &CALLS {
        for origin in [APP, LOCAL].into_iter().chain(STRANGERS).map(Some).chain([None]) {
            let answer = call(&service, asks, origin).await;
            let allowed = answer.header("access-control-allow-origin");
            let expected = origin.filter(|origin| [APP, LOCAL].contains(origin));
            assert_eq!(allowed, expected, "{asks:?} {origin:?}");
            let exposed = answer.header("access-control-expose-headers");
            assert_eq!(exposed.is_some(), expected.is_some(), "{asks:?} {origin:?}");
            let tagged = ["accept-encoding", "origin"];
            let varies = if answer.header("etag").is_some() { &tagged[..] } else { &tagged[1..] };
            assert_eq!(names(&answer, "vary"), varies, "{asks:?}");
            assert_eq!(answer.headers.get_all("vary").iter().count(), 1, "{asks:?}");
            assert_eq!(answer.header("access-control-allow-credentials"), None);
        }
    }
}

#[tokio::test]
async fn a_page_may_read_every_header_for_clients() {
    // Headers that a page may always read (Fetch standard, section 2.2.2), and headers for the browser alone.
    let others = "cache-control content-length content-type connection x-content-type-options vary \
                  content-security-policy referrer-policy content-encoding";
    let service = service(&[APP, "*"]);
    let mut seen = Vec::new();
    for asks in &CALLS {
        let answer = call(&service, asks, Some(APP)).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert!(!names(&answer, "vary").contains(&"origin"), "the answer varies by origin");
        let exposed = names(&answer, "access-control-expose-headers");
        for name in answer.headers.keys().map(hyper::header::HeaderName::as_str) {
            let is_known = name.starts_with("access-control-") || others.contains(name);
            assert!(is_known || exposed.contains(&name), "{name} cannot be read");
            seen.push(name.to_owned());
        }
        // No answer here has these headers: the connection adds the date.
        assert!(exposed.contains(&"retry-after") && exposed.contains(&"date"));
    }
    for name in
        ["etag", "link", "location", "deprecation", "sunset", "x-request-id", "traceresponse"]
    {
        assert!(seen.iter().any(|it| it == name), "no answer had {name}");
    }
}

async fn preflight(service: &State, path: &str, origin: &str, method: &str) -> Answer {
    let headers = [("origin", origin), ("access-control-request-method", method)];
    let mut asks = request(&Method::OPTIONS, path, &headers, "");
    asks.headers_mut().remove("authorization");
    ask(service, asks).await
}

#[tokio::test]
async fn a_preflight_needs_no_credential_and_is_answered_with_the_methods_of_its_address() {
    let service = service(&[APP]);
    for (path, method, methods) in [
        ("/v1/pets", "GET", Some("GET, HEAD, POST, OPTIONS")),
        ("/v1/pets?limit=3", "POST", Some("GET, HEAD, POST, OPTIONS")),
        ("/v1/pets/7", "GET", Some("GET, HEAD, OPTIONS")),
        ("/v1/store/orders", "GET", Some("GET, HEAD, OPTIONS")),
        ("/openapi.json", "GET", Some("GET, HEAD")),
        ("/v1/nothing", "GET", None),
    ] {
        let answer = preflight(&service, path, APP, method).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
        assert_eq!(answer.header("access-control-allow-methods"), methods, "{path}");
        let allowed = "authorization, if-none-match, x-request-id, traceparent, tracestate, \
                       content-type, idempotency-key";
        assert_eq!(answer.header("access-control-allow-headers"), Some(allowed), "{path}");
        assert_eq!(answer.header("access-control-max-age"), Some("7200"));
        assert_eq!(answer.header("vary"), Some("origin"));
    }
    let stranger = preflight(&service, "/v1/pets", STRANGERS[0], "GET").await;
    assert_eq!((stranger.status.as_u16(), stranger.header("vary")), (401, Some("origin")));
    // Only an OPTIONS request that names the method of the next request is a preflight.
    let asked = ("access-control-request-method", "GET");
    for (method, headers, status) in [
        (Method::OPTIONS, &[("origin", APP)][..], 401),
        (Method::GET, &[("origin", APP), asked], 401),
        (Method::OPTIONS, &[("origin", APP), asked, ("host", "other")], 400),
    ] {
        let mut plain = request(&method, "/v1/pets", headers, "");
        plain.headers_mut().remove("authorization");
        assert_eq!(ask(&service, plain).await.status, status, "{method} {headers:?}");
    }
}
