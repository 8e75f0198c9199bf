mod admission;
mod conditional;
mod cors;
mod failures;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::{HeaderMap, Method, Request, StatusCode};
use petstore_domain::{
    Added, ApiKeySecret, CatalogueVersion, Idempotency, ManualClock, MockAuthenticator,
    MockPetService, Pet, PetId, PetPage, PetService, Timestamp, Versioned,
    mocks::{idempotency, new_pet, predicate},
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    observe::metrics::Metrics,
    route::operations,
    settings::{GetPetSunset, Limits, Settings, StaticFile},
    state::{
        State,
        tests::{SlowPets, ports},
    },
};

const KEY: &str = "the-only-key-there-is";
const MEDIA_TYPE: &str = "text/html; charset=utf-8";
const VERSION: CatalogueVersion = CatalogueVersion(7);

fn page() -> StaticFile {
    StaticFile {
        path: "/docs",
        media_type: MEDIA_TYPE,
        content_security_policy: "default-src 'none'",
        content: "as it is ".repeat(1000).into(),
    }
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn code(&self) -> String {
        let error: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        let fields: Vec<_> = error.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["code", "message", "status"]);
        assert_eq!(error["status"], self.status.as_u16());
        error["code"].as_str().unwrap().to_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

fn state(pets: impl PetService + 'static, sunset: GetPetSunset) -> State {
    petstore_testing::limit_time();
    let ports = ports(pets, MockAuthenticator::accepting(KEY));
    let static_files = vec![page()];
    let limits = Limits { refusal_delay: Duration::ZERO, ..Limits::default() };
    let settings = Settings { get_pet_sunset: sunset, static_files, limits, ..Settings::default() };
    State::new(ports, settings, None)
}

/// Returns the answer, which must have the header that its status demands.
async fn ask(state: &State, request: Request<String>) -> Answer {
    let (head, body) = super::ask(state, request).await.into_parts();
    let answer = Answer { status: head.status, headers: head.headers, body };
    for (name, statuses) in [
        ("retry-after", &[429, 503][..]),
        ("www-authenticate", &[401, 403]),
        ("accept-post", &[415]),
    ] {
        let is_needed = statuses.contains(&answer.status.as_u16());
        assert_eq!(answer.header(name).is_some(), is_needed, "{name} {}", answer.status);
    }
    assert!([None, Some("1")].contains(&answer.header("retry-after")));
    let has_content = ![204, 304].contains(&answer.status.as_u16());
    assert!(has_content || answer.header("content-length").is_none(), "{}", answer.status);
    answer
}

fn request(method: &Method, path: &str, headers: &[(&str, &str)], body: &str) -> Request<String> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "test")
        .header("authorization", format!("Bearer {KEY}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned()).unwrap()
}

fn rex() -> Pet {
    new_pet("Rex").with_id(PetId(7))
}

const JSON: (&str, &str) = ("content-type", "application/json");
const REX: &str = r#"{"name":"Rex","categoryId":1}"#;

/// A service in this version with only animal 7. Its lists have a next page.
fn with_rex(version: Option<CatalogueVersion>) -> MockPetService {
    let mut pets = MockPetService::new();
    pets.expect_version().returning(move || version);
    pets.expect_list().returning(move |_| {
        Ok(Versioned { value: PetPage { pets: vec![rex()], more: true }, version })
    });
    pets.expect_get()
        .returning(move |id| Ok(Versioned { value: (id == PetId(7)).then(rex), version }));
    pets.expect_add().returning(|_, _| Ok(Added::Created(rex())));
    pets
}

/// Method, path, headers, body, and the code of the answer.
type Row<'a> = (&'a Method, &'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);

#[tokio::test]
async fn a_request_with_many_errors_is_refused_for_the_first_in_the_documented_order() {
    let big = &" ".repeat(65537);
    let text = ("content-type", "text/plain");
    let bad_key = ("idempotency-key", "a b");
    let table: [Row<'_>; 12] = [
        (&Method::POST, "/v1/none?x=1", &[text, ("host", "other")], "", "invalid_request"),
        (&Method::POST, "/v1/none?x=1", &[text], big, "route_not_found"),
        (&Method::DELETE, "/v1/pets/7?x=1", &[text], big, "method_not_allowed"),
        (&Method::GET, "/v1/pets/7?x=1", &[text], big, "operation_removed"),
        (&Method::POST, "/v1/pets?x=1", &[text, bad_key], big, "unsupported_media_type"),
        (&Method::POST, "/v1/pets?x=1", &[JSON, bad_key], big, "body_too_large"),
        (&Method::GET, "/v1/pets?x=1", &[], big, "body_too_large"),
        (&Method::POST, "/v1/pets?x=1", &[JSON, bad_key], "", "invalid_query"),
        (&Method::POST, "/v1/pets", &[JSON, bad_key], "", "invalid_idempotency_key"),
        (&Method::POST, "/v1/pets", &[JSON], "", "invalid_json"),
        (&Method::POST, "/v1/pets", &[JSON], "[]", "invalid_pet"),
        (&Method::GET, "/v1/pets?x=1", &[], "", "invalid_query"),
    ];
    let state = state(MockPetService::new(), GetPetSunset::Now);
    for (method, path, headers, body, code) in table {
        let answer = ask(&state, request(method, path, headers, body)).await;
        assert_eq!(answer.code(), code, "{method} {path} {headers:?}");
        let methods = "this address has the methods GET, HEAD, OPTIONS\"";
        let names_them = String::from_utf8_lossy(&answer.body).contains(methods);
        assert_eq!(names_them, code == "method_not_allowed", "{method} {path}");
        // The bytes after an ambiguous head may not be a request.
        assert!(code != "invalid_request" || answer.header("connection") == Some("close"));
    }
}

#[tokio::test]
async fn every_answer_of_get_pet_announces_the_deprecation_and_a_planned_end() {
    let date = Some("Thu, 05 Dec 2030 00:00:00 GMT");
    let offered = [
        ("/v1/pets/7", StatusCode::OK),
        ("/v1/pets/8", StatusCode::NOT_FOUND),
        ("/v1/pets/07", StatusCode::NOT_FOUND),
        ("/v1/pets/7?x", StatusCode::BAD_REQUEST),
    ];
    let ended = offered.map(|(path, _)| (path, StatusCode::GONE));
    for (sunset, date, table) in [
        (GetPetSunset::Date, date, offered),
        (GetPetSunset::Off, None, offered),
        (GetPetSunset::Now, None, ended),
    ] {
        let state = state(with_rex(Some(VERSION)), sunset);
        for (path, status) in table {
            for method in [Method::GET, Method::HEAD] {
                let answer = ask(&state, request(&method, path, &[], "")).await;
                assert_eq!(answer.status, status, "{path}");
                assert_eq!(answer.header("deprecation"), Some("@1795132800"));
                assert_eq!(answer.header("sunset"), date, "{sunset:?}");
                let successor = "</v1/pets?status=available>; rel=\"successor-version\"";
                assert_eq!(answer.header("link"), Some(successor));
                let condition = [("if-none-match", "*")];
                let again = ask(&state, request(&method, path, &condition, "")).await;
                assert_eq!(again.status == 304, status == StatusCode::OK, "{path}");
                for name in ["deprecation", "sunset", "link"] {
                    assert_eq!(again.header(name), answer.header(name), "{path} {name}");
                }
            }
        }
        let other = ask(&state, request(&Method::OPTIONS, "/v1/pets/7", &[], "")).await;
        assert_eq!(other.status, StatusCode::NO_CONTENT);
        assert_eq!(other.header("deprecation"), None);
    }
}

#[tokio::test]
async fn every_link_begins_with_the_path_prefix_of_the_public_url() {
    let unordered = "/v1/pets?status=sold&limit=2";
    for (url, root) in [
        (None, ""),
        (Some("https://pets.example/v1"), ""),
        (Some("http://[::1]:8080/animals/v1"), "/animals"),
        (Some("https://pets.example/a/b/v1"), "/a/b"),
    ] {
        let ports = state(with_rex(None), GetPetSunset::Date).ports;
        let public_url = url.map(str::to_owned);
        let settings = Settings { public_url, static_files: vec![page()], ..Settings::default() };
        let state = State::new(ports, settings, None);
        for (method, path, header, start) in [
            (Method::GET, "/v1/pets", "link", "</v1/pets?limit=20&cursor="),
            // The link has its parameters in a fixed order, whatever their order in the request.
            (Method::GET, unordered, "link", "</v1/pets?limit=2&status=sold&cursor="),
            (Method::GET, "/v1/pets/8", "link", "</v1/pets?status=available>;"),
            (Method::POST, "/v1/pets", "location", "/v1/pets/7"),
            (Method::GET, "/", "location", "/docs"),
            (Method::GET, "/docs/", "location", "/docs"),
        ] {
            let answer = ask(&state, request(&method, path, &[JSON], REX)).await;
            let expected = start.replacen('/', &format!("{root}/"), 1);
            let link = answer.header(header).unwrap();
            assert!(link.starts_with(&expected), "{method} {path}: {link}");
            assert_eq!(answer.status == 307, path == "/", "{path}");
            assert_eq!(answer.status == 308, path == "/docs/", "{path}");
        }
    }
}

#[tokio::test]
async fn a_path_with_needless_escapes_is_the_same_address_and_needs_a_key_too() {
    let state = state(with_rex(None), GetPetSunset::Off);
    for path in ["/v1/pets/%37", "/v1/%70ets/7", "/%761/pets/7", "/%76%31/%70%65%74%73/%37"] {
        let answer = ask(&state, request(&Method::GET, path, &[], "")).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{path}");
        let mut keyless = request(&Method::GET, path, &[], "");
        keyless.headers_mut().remove("authorization");
        assert_eq!(ask(&state, keyless).await.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn a_new_animal_has_a_location_until_get_pet_is_removed() {
    let caller = ApiKeySecret::new(KEY).digest();
    let once = Idempotency { caller, ..idempotency("once") };
    let end = GetPetSunset::Date.ends_at().unwrap();
    for (sunset, now, location) in [
        (GetPetSunset::Off, end, Some("/v1/pets/7")),
        (GetPetSunset::Date, Timestamp(0), Some("/v1/pets/7")),
        (GetPetSunset::Date, end, None),
        (GetPetSunset::Now, Timestamp(0), None),
    ] {
        for (added, replayed) in
            [(Added::Created(rex()), None), (Added::Replayed(rex()), Some("true"))]
        {
            let mut pets = MockPetService::new();
            pets.expect_add()
                .with(predicate::always(), predicate::eq(Some(once.clone())))
                .return_once(|_, _| Ok(added));
            let headers = [JSON, ("idempotency-key", "\"once\"")];
            let request = request(&Method::POST, "/v1/pets", &headers, REX);
            let mut state = state(pets, sunset);
            state.ports.clock = Arc::new(ManualClock::new(now));
            let answer = ask(&state, request).await;
            assert_eq!(answer.status, StatusCode::CREATED);
            assert_eq!(answer.header("location"), location);
            assert_eq!(answer.header("idempotency-replayed"), replayed);
            assert_eq!(answer.body, r#"{"id":7,"name":"Rex","categoryId":1}"#);
        }
    }
}

#[tokio::test]
async fn head_has_the_length_of_get_and_no_body() {
    let state = state(with_rex(Some(VERSION)), GetPetSunset::Off);
    for path in ["/v1/pets", "/livez", "/docs", "/v1/store/orders", "/nothing"] {
        let get = ask(&state, request(&Method::GET, path, &[], "")).await;
        let head = ask(&state, request(&Method::HEAD, path, &[], "")).await;
        assert_eq!(head.status, get.status);
        assert!(head.body.is_empty());
        let length = get.body.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()), "{path}");
        assert_eq!(head.header("link"), get.header("link"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_is_answered_503_at_its_time_limit() {
    let pets = SlowPets { takes: Duration::MAX, ..SlowPets::default() };
    let mut state = state(pets, GetPetSunset::Off);
    state.settings.limits.request_timeout = Duration::from_secs(5);
    let metrics = Arc::new(Metrics::new(operations()).unwrap());
    state.metrics = Some(Arc::clone(&metrics));
    for request in [
        request(&Method::GET, "/v1/pets", &[], ""),
        request(&Method::GET, "/v1/pets/7", &[], ""),
        request(&Method::POST, "/v1/pets", &[JSON], REX),
        request(&Method::GET, "/readyz", &[], ""),
    ] {
        let began = Instant::now();
        let under_way = async {
            sleep(Duration::from_secs(4)).await;
            assert_eq!(metrics.series.in_flight.get(), 1);
        };
        let answered = timeout(Duration::from_hours(1), ask(&state, request));
        let answer = tokio::join!(answered, under_way).0.expect("the request is answered");
        assert_eq!(metrics.series.in_flight.get(), 0);
        assert_eq!(answer.code(), "unavailable");
        assert!(answer.header("retry-after").is_some());
        let took = began.elapsed();
        // Timers count whole milliseconds.
        assert!(took.as_millis().abs_diff(5000) <= 2, "{took:?}");
    }
    let text = metrics.to_text(Vec::new()).unwrap();
    assert!(text.contains("_duration_seconds_sum{route=\"/readyz\"} 5"), "{text}");
    // A store without versions has no page in the cache.
    assert_eq!(metrics.series.page_misses.get(), 2);
    let began = Instant::now();
    // Without memory for bodies, no request waits for the store.
    state.body_memory.close();
    let answer = ask(&state, request(&Method::POST, "/v1/pets", &[JSON], REX)).await;
    assert_eq!((answer.status.as_u16(), began.elapsed()), (503, Duration::ZERO));
}
