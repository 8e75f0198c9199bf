//! Authentication and rate limits: the delay of refusals, and the requests that count for the rate of a key.

use std::{num::NonZeroU32, time::Duration};

use hyper::{Method, StatusCode, header::HeaderValue};
use petstore_domain::{
    ApiKeySecret, AuthenticationError, Caller, KeyRights, MockAuthenticator, StoreError,
};
use tokio::time::Instant;

use super::{KEY, ask, request};
use crate::{
    rate_limit::{BURST, RateLimit},
    request::address::is_under_base,
    route::ROUTES,
    settings::Settings,
    state::{
        State,
        tests::{SlowPets, ports},
    },
};

/// A key whose check fails, because the store does not answer.
const UNREADABLE: &str = "Bearer the-store-is-gone-for-this-one";
/// A new key, which only the second check accepts.
const NEW: &str = "Bearer known-when-it-is-checked-again";

const METHODS: [Method; 5] =
    [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS, Method::DELETE];

fn state() -> State {
    let granted =
        |secret: &ApiKeySecret| Caller { digest: secret.digest(), rights: KeyRights::Full };
    let is = |secret: &ApiKeySecret, header: &str| header.ends_with(secret.expose());
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().returning(|_| None);
    authenticator.expect_authenticate().returning(move |secret| {
        if is(secret, UNREADABLE) {
            return Err(StoreError::unavailable("gone").into());
        }
        is(secret, KEY).then(|| granted(secret)).ok_or(AuthenticationError::Refused(None))
    });
    authenticator.expect_authenticate_again().returning(move |secret| {
        is(secret, NEW).then(|| granted(secret)).ok_or(AuthenticationError::Refused(None))
    });
    State::new(ports(SlowPets::default(), authenticator), Settings::default(), None)
}

/// Returns the paths of all routes under the base path, and other paths there.
fn paths() -> impl Iterator<Item = String> {
    let routes = ROUTES.iter().map(|route| route.template.replace("{petId}", "7"));
    let others = ["/v1", "/v1/", "/v1/pets?limit=0", "/v1/pets/x", "/v1/nothing"];
    routes.filter(|path| is_under_base(path)).chain(others.map(str::to_owned))
}

#[tokio::test(start_paused = true)]
async fn every_refusal_comes_first_and_is_delayed_and_a_new_key_works() {
    let state = state();
    let missing = Some("Bearer realm=\"petstore\"");
    let invalid = Some("Bearer realm=\"petstore\", error=\"invalid_token\"");
    for path in paths() {
        for (credential, challenge, is_late) in [
            (None, missing, true),
            (Some("Basic x"), invalid, true),
            (Some("Bearer made-up"), invalid, true),
            (Some(UNREADABLE), None, false),
            (Some(NEW), None, true),
        ] {
            for method in &METHODS {
                let case = format!("{method} {path} {credential:?}");
                let mut request = request(method, &path, &[], "no json");
                request.headers_mut().remove("authorization");
                if let Some(credential) = credential {
                    let credential = HeaderValue::from_static(credential);
                    request.headers_mut().insert("authorization", credential);
                }
                let began = Instant::now();
                let answer = ask(&state, request).await;
                assert_eq!(began.elapsed() >= Duration::from_millis(100), is_late, "{case}");
                assert_eq!(answer.header("www-authenticate"), challenge, "{case}");
                let (is_refused, is_broken) = (challenge.is_some(), credential == Some(UNREADABLE));
                assert_eq!(answer.status == StatusCode::UNAUTHORIZED, is_refused, "{case}");
                assert_eq!(answer.status == StatusCode::SERVICE_UNAVAILABLE, is_broken, "{case}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_request_under_the_base_path_counts_for_the_rate_of_its_key() {
    for path in paths() {
        for method in &METHODS {
            let mut state = state();
            state.key_rate = NonZeroU32::new(1).map(|rate| RateLimit::new(rate, BURST));
            for is_first in [true, false] {
                let answer = ask(&state, request(method, &path, &[], "")).await;
                let is_limited = answer.status == StatusCode::TOO_MANY_REQUESTS;
                assert_eq!(is_limited, !is_first, "{method} {path}: {}", answer.status);
                // A path that needs no key has no limit.
                let open = ask(&state, request(method, "/livez", &[], "")).await;
                assert_ne!(open.status, StatusCode::TOO_MANY_REQUESTS, "{method}");
            }
        }
    }
}
