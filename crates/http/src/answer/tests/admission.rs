//! Who is let in, and who is slowed down.

use std::{num::NonZeroU32, sync::Arc};

use hyper::{Method, Request, StatusCode};
use petstore_domain::{
    ApiKeySecret, AuthenticationError, Caller, KeyRights, ManualClock, MockAuthenticator,
    StoreError, Timestamp,
};

use super::{KEY, ask, request, untouched};
use crate::{
    rate_limit::RateLimit,
    settings::{Limits, Settings},
    state::{Ports, State},
};

/// A key that the store cannot look up.
const UNREADABLE: &str = "the-store-is-gone-for-this-one";

/// A service that takes one failure a second.
fn state() -> State {
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().returning(|_| None);
    authenticator.expect_authenticate().returning(|secret: &ApiKeySecret| match secret.expose() {
        KEY => Ok(Caller { digest: secret.digest(), rights: KeyRights::Full }),
        UNREADABLE => Err(StoreError::unavailable("gone").into()),
        _ => Err(AuthenticationError::Refused),
    });
    let ports = Ports {
        pets: Arc::new(untouched()),
        authenticator: Arc::new(authenticator),
        clock: Arc::new(ManualClock::new(Timestamp(0))),
    };
    let limits = Limits { failed_auth_rate: NonZeroU32::new(1), ..Limits::default() };
    State::new(ports, Settings { limits, ..Settings::default() }, None)
}

/// The statuses of three requests with `key`.
async fn statuses(state: &State, key: &str) -> [StatusCode; 3] {
    let mut statuses = [StatusCode::IM_A_TEAPOT; 3];
    for status in &mut statuses {
        let request = Request::builder().method(Method::OPTIONS).uri("/v1/pets");
        let request =
            request.header("host", "test").header("authorization", format!("Bearer {key}"));
        *status = ask(state, request.body(http_body_util::Full::default()).unwrap()).await.status;
    }
    statuses
}

#[tokio::test(start_paused = true)]
async fn bad_keys_are_slowed_down_and_neither_good_ones_nor_those_that_nobody_can_look_up() {
    let state = state();
    assert_eq!(statuses(&state, KEY).await, [StatusCode::NO_CONTENT; 3]);
    assert_eq!(statuses(&state, UNREADABLE).await, [StatusCode::SERVICE_UNAVAILABLE; 3]);
    let limited = StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(statuses(&state, "made-up").await, [StatusCode::UNAUTHORIZED, limited, limited]);
    assert_eq!(statuses(&state, UNREADABLE).await, [StatusCode::SERVICE_UNAVAILABLE; 3]);
    assert_eq!(statuses(&state, KEY).await, [StatusCode::NO_CONTENT; 3]);
}

#[tokio::test(start_paused = true)]
async fn every_request_with_a_key_takes_of_the_rate_of_that_key() {
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS, Method::DELETE];
    let paths = ["/v1", "/v1/pets?limit=0", "/v1/pets/x", "/v1/store/orders", "/v1/nothing"];
    for method in &methods {
        for path in paths {
            let mut state = state();
            state.key_rate = NonZeroU32::new(1).map(RateLimit::new);
            for is_first in [true, false] {
                let answer = ask(&state, request(method, path, &[], "")).await;
                let is_limited = answer.status == StatusCode::TOO_MANY_REQUESTS;
                assert_eq!(is_limited, !is_first, "{method} {path}: {}", answer.status);
                // An open address has none.
                let open = ask(&state, request(method, "/livez", &[], "")).await;
                assert_ne!(open.status, StatusCode::TOO_MANY_REQUESTS, "{method}");
            }
        }
    }
}
