use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode, header::HeaderValue};
use petstore_domain::{ApiKeySecret, Caller, KeyLabel, KeyRights, MockAuthenticator};
use tracing::{Event, Level, Metadata, Subscriber, field::Field, span, subscriber::with_default};

use super::{Finished, Observer};
use crate::{
    error::{ApiError, ErrorCode},
    peer::Peer,
    settings::AccessLog,
};

/// The lines in their order: their levels, and their fields as text.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

impl Lines {
    fn take(&self) -> Vec<Level> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(level, _)| level).collect()
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("petstore_http")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            let _ = write!(fields, "{field}={value:?} ");
        });
        self.0.lock().unwrap().push((*event.metadata().level(), fields));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn observer(choice: AccessLog) -> Observer {
    Observer::new(choice, Arc::new(MockAuthenticator::new()), None)
}

fn finish(observer: &Observer, began: Instant, outcome: Result<StatusCode, &ApiError>) {
    finish_of(observer, began, outcome, None);
}

/// The same, of a request with the key of `caller`.
fn finish_of(
    observer: &Observer,
    began: Instant,
    outcome: Result<StatusCode, &ApiError>,
    caller: Option<&Caller>,
) {
    let request_id = &HeaderValue::from_static("id");
    let method = Some(&Method::GET);
    observer.finished(&Finished {
        request_id,
        peer: Peer::Unix(None),
        method,
        route: None,
        caller,
        trace: None,
        began,
        outcome,
    });
}

#[test]
fn refusals_have_a_hundred_lines_a_second_and_then_their_number() {
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let lines = Lines::default();
    let began = Instant::now();
    with_default(lines.clone(), || {
        let observer = observer(AccessLog::Errors);
        for _ in 0..130 {
            finish(&observer, began, Err(&refusal));
        }
        assert_eq!(lines.take(), [Level::INFO; 100]);
        finish(&observer, began + Duration::from_secs(1), Err(&refusal));
        assert_eq!(lines.take(), [Level::WARN, Level::INFO]);
    });
}

#[test]
fn failures_have_a_few_lines_for_each_cause() {
    let failures = ["full", "gone"].map(ApiError::unavailable);
    let lines = Lines::default();
    let began = Instant::now();
    with_default(lines.clone(), || {
        let observer = observer(AccessLog::Errors);
        for _ in 0..130 {
            for failure in &failures {
                finish(&observer, began, Err(failure));
            }
        }
        assert_eq!(lines.take(), [Level::ERROR; 20]);
    });
}

#[test]
fn the_choice_of_the_operator_says_which_requests_have_a_line() {
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let failure = ApiError::unavailable("the store is gone");
    let outcomes = [Ok(StatusCode::OK), Err(&refusal), Err(&failure)];
    for (choice, expected) in [
        (AccessLog::All, [200, 200, 200]),
        (AccessLog::Errors, [0, 100, 10]),
        (AccessLog::Off, [0, 0, 10]),
    ] {
        let lines = Lines::default();
        let began = Instant::now();
        with_default(lines.clone(), || {
            let observer = observer(choice);
            for (outcome, expected) in outcomes.into_iter().zip(expected) {
                for _ in 0..200 {
                    finish(&observer, began, outcome);
                }
                assert_eq!(lines.take().len(), expected, "{choice:?} {outcome:?}");
            }
        });
    }
}

#[test]
fn the_name_of_a_key_is_looked_up_for_a_line_alone() {
    let caller = Caller { digest: ApiKeySecret::new("any").digest(), rights: KeyRights::Full };
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let failure = ApiError::unavailable("the store is gone");
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().times(110).returning(|_| Some(KeyLabel::Service));
    let lines = Lines::default();
    with_default(lines.clone(), || {
        let observer = Observer::new(AccessLog::Errors, Arc::new(authenticator), None);
        let began = Instant::now();
        for outcome in [Ok(StatusCode::OK), Err(&refusal), Err(&failure)] {
            for _ in 0..200 {
                finish_of(&observer, began, outcome, Some(&caller));
            }
        }
    });
    let lines = lines.0.lock().unwrap();
    assert_eq!(lines.len(), 110);
    for (_, fields) in &*lines {
        assert!(
            fields.contains("peer=unix ") && fields.contains("key_name=\"service key\" "),
            "{fields}"
        );
    }
}
