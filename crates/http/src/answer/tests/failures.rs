//! Internal failures: the response, the metrics and the log line of each kind of failure at each place. Also a
//! draining service, and the duration of a late head.

use std::{panic::panic_any, sync::Arc, time::Duration};

use hyper::{Method, StatusCode};
use petstore_domain::{
    AddError, ApiKeySecret, AuthenticationError, Caller, KeyLabel, KeyRights, MockAuthenticator,
    MockPetService, StoreError,
};
use tracing::{Level, subscriber::set_default};

use super::{JSON, REX, ask, request};
use crate::{
    answer::late_head,
    observe::{log::tests::Lines, metrics::Metrics},
    request::Peer,
    route::operations,
    settings::Settings,
    state::{Monitor, State, tests::ports},
};

/// The place of a failure: the method and the path of the request, and whether the check of the key fails.
type Place = (Method, &'static str, bool);

const PLACES: [Place; 7] = [
    (Method::GET, "/v1/pets", false),
    (Method::HEAD, "/v1/pets", false),
    (Method::GET, "/v1/pets/7", false),
    (Method::POST, "/v1/pets", false),
    (Method::GET, "/readyz", false),
    (Method::GET, "/v1/pets", true),
    (Method::OPTIONS, "/v1/nothing", true),
];

/// A failure, the status and the code of the answer, and whether the metrics count the failure as an error of the
/// store.
type Failure = (fn() -> StoreError, u16, &'static str, bool);

/// A service whose store fails, in the check of keys if `in_authentication`, otherwise in the catalogue.
fn state(fail: fn() -> StoreError, in_authentication: bool) -> State {
    let mut pets = MockPetService::new();
    pets.expect_version().returning(|| None);
    pets.expect_list().returning(move |_| Err(fail()));
    pets.expect_get().returning(move |_| Err(fail()));
    pets.expect_add().returning(move |_, _| Err(AddError::Store(fail())));
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().returning(|_| Some(KeyLabel::Service));
    authenticator.expect_authenticate().returning(move |secret: &ApiKeySecret| {
        if in_authentication {
            return Err(AuthenticationError::Store(fail()));
        }
        Ok(Caller { digest: secret.digest(), rights: KeyRights::Full })
    });
    let metrics = Metrics::new(operations()).unwrap();
    State::new(ports(pets, authenticator), Settings::default(), Some(Arc::new(metrics)))
}

fn metrics_of(state: &State) -> String {
    state.metrics.as_ref().unwrap().to_text(Vec::new()).unwrap()
}

#[tokio::test]
async fn a_failure_anywhere_is_answered_counted_and_logged_once() {
    let table: [Failure; 6] = [
        (|| StoreError::unavailable("/secret/path"), 503, "unavailable", true),
        (|| StoreError::sealed("/secret/path"), 503, "unavailable", true),
        (|| StoreError::Refused("/secret/path".into()), 500, "internal", true),
        (|| StoreError::corrupt("/secret/path", "be good"), 500, "internal", true),
        (|| panic!("/secret/path"), 500, "internal", false),
        (|| panic_any("/secret/path".to_owned()), 500, "internal", false),
    ];
    for (fail, status, code, by_store) in table {
        for (method, path, in_authentication) in PLACES {
            let case = format!("{method} {path} {in_authentication} {code} {by_store}");
            let state = state(fail, in_authentication);
            let lines = Lines::default();
            let guard = set_default(lines.clone());
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let headers = [JSON, ("traceparent", trace), ("x-request-id", "this-one")];
            let answer = ask(&state, request(&method, path, &headers, REX)).await;
            drop(guard);

            assert_eq!(answer.status, StatusCode::from_u16(status).unwrap(), "{case}");
            if method != Method::HEAD {
                assert_eq!(answer.code(), code, "{case}");
            }
            assert_eq!(answer.header("retry-after").is_some(), status == 503, "{case}");
            assert_eq!(answer.header("x-request-id"), Some("this-one"), "{case}");
            let is_deprecated = path == "/v1/pets/7";
            assert_eq!(answer.header("deprecation").is_some(), is_deprecated, "{case}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("secret"), "{case}");

            let text = metrics_of(&state);
            let count = |series: &str| text.lines().any(|line| line == series);
            let store_errors = format!("petstore_store_errors_total {}", u8::from(by_store));
            let rejected = format!("petstore_rejected_requests_total{{code=\"{code}\"}} 1");
            assert!(count(&store_errors) && count(&rejected), "{case}: {text}");
            let counted = format!("method=\"{method}\",");
            assert!(text.contains(&counted) && text.contains(&format!("status=\"{status}\"}} 1")));

            let lines = lines.take();
            let [(Level::ERROR, line)] = &lines[..] else { panic!("{case}: {lines:?}") };
            for field in ["request_id=\"this-one\"", &trace[3..35], code, "/secret/path"] {
                assert!(line.contains(field), "{case}: {field}: {line}");
            }
        }
    }
}

#[tokio::test]
async fn a_draining_service_is_alive_but_not_ready_without_a_logged_failure() {
    let state = state(|| StoreError::unavailable("gone"), false);
    let lines = Lines::default();
    let _guard = set_default(lines.clone());
    state.drain.begin();
    let ready = ask(&state, request(&Method::GET, "/readyz", &[], "")).await;
    assert_eq!((ready.status.as_u16(), ready.code()), (503, "unavailable".to_owned()));
    let live = ask(&state, request(&Method::GET, "/livez?by=probe", &[], "")).await;
    assert_eq!((live.status.as_u16(), live.header("connection")), (200, Some("close")));
    let lines = lines.take();
    assert!(lines.iter().all(|(level, _)| *level > Level::WARN), "{lines:?}");
    assert!(metrics_of(&state).contains("petstore_store_errors_total 0\n"));
    // The metrics listener answers for the service.
    let (metrics, samples) = (state.metrics.clone().unwrap(), Arc::new(Vec::new));
    let state = Monitor { service: Arc::new(state), metrics, samples }.into_state();
    let there = ask(&state, request(&Method::GET, "/readyz", &[], "")).await;
    assert_eq!(there.body, ready.body);
}

#[tokio::test(start_paused = true)]
async fn the_duration_of_a_late_head_is_its_limit() {
    let state = state(|| StoreError::unavailable("gone"), false);
    let limit = Duration::from_secs(7);
    tokio::time::advance(limit).await;
    let answer = late_head(&state, Peer::Unix, limit);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let (lines, request_id) = head.rsplit_once("\r\nx-request-id: ").unwrap();
    let expected = format!(
        "HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\n\
         content-length: {}\r\ncache-control: private, no-cache\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\
         date: Thu, 01 Jan 1970 00:00:00 GMT",
        body.len(),
    );
    assert_eq!((lines, request_id.len()), (&*expected, 32));
    assert!(body.contains("within 7s"), "{body}");
    let sum = "petstore_http_request_duration_seconds_sum{route=\"none\"} 7\n";
    assert!(metrics_of(&state).contains(sum));
    let version = concat!("petstore_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n");
    assert!(metrics_of(&state).contains(version));
    let help = "# HELP petstore_connections_open Connections that are open.\n";
    assert!(metrics_of(&state).contains(help));
}
