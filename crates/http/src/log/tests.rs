use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode, header::HeaderValue};
use tracing::{Event, Level, Metadata, Subscriber, span, subscriber::with_default};

use super::{Finished, Observer};
use crate::{
    error::{ApiError, ErrorCode},
    settings::AccessLog,
};

/// The levels of the lines, in their order.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Level>>>);

impl Lines {
    fn take(&self) -> Vec<Level> {
        std::mem::take(&mut self.0.lock().unwrap())
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
        self.0.lock().unwrap().push(*event.metadata().level());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn finish(observer: &Observer, began: Instant, outcome: Result<StatusCode, &ApiError>) {
    let request_id = &HeaderValue::from_static("id");
    let method = Some(&Method::GET);
    observer.finished(&Finished { request_id, method, route: None, trace: None, began, outcome });
}

#[test]
fn refusals_have_a_hundred_lines_a_second_and_then_their_number() {
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let lines = Lines::default();
    let began = Instant::now();
    with_default(lines.clone(), || {
        let observer = Observer::new(AccessLog::Errors, None);
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
        let observer = Observer::new(AccessLog::Errors, None);
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
            let observer = Observer::new(choice, None);
            for (outcome, expected) in outcomes.into_iter().zip(expected) {
                for _ in 0..200 {
                    finish(&observer, began, outcome);
                }
                assert_eq!(lines.take().len(), expected, "{choice:?} {outcome:?}");
            }
        });
    }
}
