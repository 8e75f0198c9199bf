use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use hyper::header::AUTHORIZATION;
use petstore_domain::ApiKeySecret;
use tokio::{
    task::{self, JoinSet},
    time::{Instant, sleep},
};

use super::{bearer_token, check_late};
use crate::{
    request::tests::headers_of,
    response::error::{ApiError, ErrorCode},
    settings::{Limits, Settings},
    state::{State, tests::unused_ports},
};

const MILLI: Duration = Duration::from_millis(1);

/// Returns a service with this limit of connections, a request timeout of 2 s, no shutdown delay and no limit of bodies.
fn service(max_connections: usize) -> Arc<State> {
    let limits = Limits {
        request_timeout: Duration::from_secs(2),
        max_connections: NonZeroUsize::new(max_connections).unwrap(),
        shutdown_delay: Duration::ZERO,
        max_buffered_bodies: usize::MAX,
        ..Limits::default()
    };
    Arc::new(State::new(unused_ports(), Settings { limits, ..Settings::default() }, None))
}

/// Returns the outcome of a refusal whose second check ends after `later`, and the time it took.
async fn waits(state: &State, later: Duration, is_good: bool) -> (Option<ErrorCode>, Duration) {
    let began = Instant::now();
    let again = async {
        sleep(later).await;
        if is_good { Ok(()) } else { Err(ApiError::unauthorized(true)) }
    };
    let outcome = check_late(state, &ApiError::unauthorized(true), again).await;
    (outcome.err().map(|error| error.code), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn the_second_check_of_a_key_decides_after_the_delay() {
    let service = service(1000);
    // The last check ends after the request timeout.
    for (later, took) in [(0, 100), (99, 100), (400, 400), (60_000, 1800)] {
        for is_good in [true, false] {
            let code = (!is_good || took < later).then_some(ErrorCode::Unauthorized);
            let (outcome, elapsed) = waits(&service, later * MILLI, is_good).await;
            assert_eq!(outcome, code);
            // Timers count whole milliseconds.
            assert!((took * MILLI..(took + 2) * MILLI).contains(&elapsed), "{later}: {elapsed:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_a_quarter_of_the_connections_and_4096_refusals_wait() {
    for (connections, places) in [(1, 1), (8, 2), (16_384, 4096), (1_000_000, 4096)] {
        let service = service(connections);
        let began = Instant::now();
        let mut waiting = JoinSet::new();
        for _ in 0..=places {
            let service = Arc::clone(&service);
            waiting.spawn(async move { waits(&service, Duration::ZERO, false).await.0.unwrap() });
        }
        let codes = waiting.join_all().await;
        let count = |code| codes.iter().filter(|it| **it == code).count();
        let refused = count(ErrorCode::Unauthorized);
        assert_eq!(refused + count(ErrorCode::RateLimited), codes.len());
        assert_eq!(refused, places, "of {connections} connections");
        assert!(began.elapsed() < 200 * MILLI);
        assert_eq!(service.refusal_permits.available_permits(), places);
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_waiting_and_later_refusals_at_once() {
    let service = service(1000);
    let began = Instant::now();
    let waiting = {
        let service = Arc::clone(&service);
        task::spawn(async move { waits(&service, Duration::from_mins(1), true).await })
    };
    sleep(10 * MILLI).await;
    service.drain.begin();
    let outcome = (waiting.await.unwrap().0, waits(&service, 50 * MILLI, true).await.0);
    assert_eq!(outcome, (Some(ErrorCode::Unauthorized), Some(ErrorCode::Unauthorized)));
    assert!(began.elapsed() < 20 * MILLI);
}

#[test]
fn a_credential_is_one_bearer_token() {
    let bearer = |token: &str| Some(ApiKeySecret::new(token));
    for (sent, expected) in [
        (&[][..], None),
        (&["Bearer abc"], bearer("abc")),
        (&["bearer abc"], bearer("abc")),
        (&["BEARER  abc "], bearer("abc")),
        (&["Bearer a b"], bearer("a b")),
        (&[""], None),
        (&["Bearer"], None),
        (&["Bearer "], None),
        (&["Basic abc"], None),
        (&["Bearerabc"], None),
        (&["Bearer café"], None),
        (&["Bearer abc", "Bearer abc"], None),
    ] {
        let headers = headers_of(&AUTHORIZATION, sent);
        assert_eq!(bearer_token(&headers), expected, "{sent:?}");
    }
}
