//! Authentication and rate limits: the delay of refusals, and the requests that count for the rate of a key.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use hyper::{Method, Request, StatusCode};
use petstore_domain::{
    ApiKeySecret, AuthenticationError, Caller, KeyRights, ManualClock, MockAuthenticator,
    StoreError, Timestamp,
};

use tokio::time::Instant;

use super::{KEY, ask, request, untouched};
use crate::{
    rate_limit::{BURST, RateLimit},
    settings::Settings,
    state::{Ports, State},
};

/// A key whose check fails, because the store does not answer.
const UNREADABLE: &str = "the-store-is-gone-for-this-one";

/// A new key, which only the second check accepts.
const NEW: &str = "known-when-it-is-checked-again";

fn state() -> State {
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().returning(|_| None);
    authenticator.expect_authenticate().returning(|secret: &ApiKeySecret| match secret.expose() {
        KEY => Ok(Caller { digest: secret.digest(), rights: KeyRights::Full }),
        UNREADABLE => Err(StoreError::unavailable("gone").into()),
        _ => Err(AuthenticationError::Refused(None)),
    });
    authenticator.expect_authenticate_again().returning(|secret: &ApiKeySecret| {
        if secret.expose() == NEW {
            return Ok(Caller { digest: secret.digest(), rights: KeyRights::Full });
        }
        Err(AuthenticationError::Refused(None))
    });
    let ports = Ports {
        pets: Arc::new(untouched()),
        authenticator: Arc::new(authenticator),
        clock: Arc::new(ManualClock::new(Timestamp(0))),
    };
    State::new(ports, Settings::default(), None)
}

#[tokio::test(start_paused = true)]
async fn every_refusal_is_delayed_and_a_new_key_works() {
    let state = state();
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS, Method::DELETE];
    for method in methods {
        for path in ["/v1", "/v1/pets?limit=0", "/v1/pets/x", "/v1/nothing"] {
            for (credential, status, is_late) in [
                (None, Some(StatusCode::UNAUTHORIZED), true),
                (Some("Basic x"), Some(StatusCode::UNAUTHORIZED), true),
                (Some("Bearer made-up"), Some(StatusCode::UNAUTHORIZED), true),
                (
                    Some("Bearer the-store-is-gone-for-this-one"),
                    Some(StatusCode::SERVICE_UNAVAILABLE),
                    false,
                ),
                (Some("Bearer known-when-it-is-checked-again"), None, true),
            ] {
                let began = Instant::now();
                let mut request =
                    Request::builder().method(&method).uri(path).header("host", "test");
                if let Some(credential) = credential {
                    request = request.header("authorization", credential);
                }
                let request = request.body(String::new()).unwrap();
                let answer = ask(&state, request).await;
                let took = began.elapsed();
                assert_eq!(
                    took >= Duration::from_millis(100),
                    is_late,
                    "{method} {path}: {took:?}"
                );
                match status {
                    Some(status) => {
                        assert_eq!(answer.status, status, "{method} {path} {credential:?}");
                    }
                    None => assert_ne!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}"),
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_request_under_the_base_path_counts_for_the_rate_of_its_key() {
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS, Method::DELETE];
    let paths = ["/v1", "/v1/pets?limit=0", "/v1/pets/x", "/v1/store/orders", "/v1/nothing"];
    for method in &methods {
        for path in paths {
            let mut state = state();
            state.key_rate = NonZeroU32::new(1).map(|rate| RateLimit::new(rate, BURST));
            for is_first in [true, false] {
                let answer = ask(&state, request(method, path, &[], "")).await;
                let is_limited = answer.status == StatusCode::TOO_MANY_REQUESTS;
                assert_eq!(is_limited, !is_first, "{method} {path}: {}", answer.status);
                // A path that needs no key has no limit.
                let open = ask(&state, request(method, "/livez", &[], "")).await;
                assert_ne!(open.status, StatusCode::TOO_MANY_REQUESTS, "{method}");
            }
        }
    }
}
