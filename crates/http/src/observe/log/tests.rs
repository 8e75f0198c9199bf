use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use hyper::{Request, StatusCode};
use petstore_domain::{
    ApiKeySecret, Caller, KeyLabel, KeyRights, ManualClock, MockAuthenticator, MockPetService,
    Timestamp,
};
use tokio::time::{Instant, advance};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::Field,
    span,
    subscriber::{NoSubscriber, set_default, with_default},
};

use super::{handshake_failed, record};
use crate::{
    observe::metrics::{Metrics, NOT_TLS},
    rate_limit::LineBudget,
    request::{Peer, auth::Credential},
    response::error::{ApiError, ErrorCode},
    route::operations,
    settings::{AccessLog, Settings},
    state::{Ports, State},
};

/// The log lines in their order, each with its level and its fields as text.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

impl Default for Lines {
    fn default() -> Self {
        // While there is one subscriber, tracing asks the thread that first reaches an event whether the event is
        // wanted. A test on another thread has no subscriber, so its answer would silence the event everywhere. With a
        // second subscriber, tracing asks them all.
        static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
        LazyLock::force(&OTHER);
        Self(Arc::default())
    }
}

impl Lines {
    pub(crate) fn take(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn levels(&self) -> Vec<Level> {
        self.take().into_iter().map(|(level, _)| level).collect()
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

fn logging(
    access_log: AccessLog,
    authenticator: MockAuthenticator,
    metrics: Option<Arc<Metrics>>,
) -> State {
    let ports = Ports {
        pets: Arc::new(MockPetService::new()),
        authenticator: Arc::new(authenticator),
        clock: Arc::new(ManualClock::new(Timestamp(0))),
    };
    let environment = Some("blue".to_owned());
    State::new(ports, Settings { environment, access_log, ..Settings::default() }, metrics)
}

fn observer(choice: AccessLog) -> State {
    logging(choice, MockAuthenticator::new(), None)
}

fn finish(state: &State, began: Instant, outcome: Result<StatusCode, &ApiError>) {
    finish_of(state, began, outcome, None);
}

/// Records a request with the key of `caller`.
fn finish_of(
    state: &State,
    began: Instant,
    outcome: Result<StatusCode, &ApiError>,
    caller: Option<&Caller>,
) {
    let (head, ()) = Request::new(()).into_parts();
    let credential = Credential { caller: caller.cloned(), refused: None };
    record(state, Peer::Unix, Some(&head), None, &credential, began, outcome);
}

#[tokio::test(start_paused = true)]
async fn refusals_have_a_hundred_lines_a_second_and_the_rest_is_counted() {
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let lines = Lines::default();
    let _guard = set_default(lines.clone());
    let observer = observer(AccessLog::Errors);
    for _ in 0..130 {
        finish(&observer, Instant::now(), Err(&refusal));
    }
    assert_eq!(lines.levels(), [Level::INFO; 100]);
    advance(Duration::from_secs(1)).await;
    finish(&observer, Instant::now(), Err(&refusal));
    let lines = lines.take();
    assert!(lines.len() == 1 && lines[0].1.contains("unwritten=30 "), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn the_access_log_setting_decides_the_lines_of_failed_handshakes() {
    for (choice, lines_of) in [
        (AccessLog::All, [50, 50, 50]),
        (AccessLog::AllButProbes, [50, 50, 0]),
        (AccessLog::Errors, [10, 10, 0]),
        (AccessLog::Off, [0, 0, 0]),
    ] {
        let lines = Lines::default();
        let _guard = set_default(lines.clone());
        let observer = observer(choice);
        let fail = |reason| handshake_failed(&observer, Peer::Unix, reason, &"an error");
        let reasons = [NOT_TLS, "refused_by_client", "disconnected"];
        for (reason, expected) in reasons.into_iter().zip(lines_of) {
            (0..50).for_each(|_| fail(reason));
            let lines = lines.take();
            assert_eq!(lines.len(), expected, "{choice:?} {reason}");
            let says = format!("reason=\"{reason}\" error=an error");
            assert!(lines.iter().all(|(_, line)| line.contains(&says)), "{lines:?}");
        }
        advance(Duration::from_secs(1)).await;
        fail(NOT_TLS);
        let lines = lines.take();
        assert_eq!(
            lines.iter().any(|(_, line)| line.contains("unwritten=40")),
            choice == AccessLog::Errors,
            "{lines:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_has_a_hundred_lines_and_the_next_line_counts_the_omitted_lines() {
    for known in [false, true] {
        let budget = LineBudget::new();
        for second in 0..3 {
            for number in 0..100 {
                let cause = known.then(|| number.to_string());
                let left_out = if second > 0 && number == 0 { 7 } else { 0 };
                assert_eq!(budget.take(cause.as_deref()), Some(left_out));
            }
            for _ in 0..7 {
                assert_eq!(budget.take(None), None);
            }
            advance(Duration::from_secs(1)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cause_has_ten_lines_at_once_and_then_one_a_second() {
    let budget = LineBudget::new();
    let written = |cause| (0..50).filter(|_| budget.take(Some(cause)).is_some()).count();
    assert_eq!(written("the disk is full"), 10);
    assert_eq!(written("the disk is gone"), 10);
    for _ in 0..20 {
        advance(Duration::from_secs(1)).await;
        assert_eq!(written("the disk is full"), 1);
    }
    advance(Duration::from_secs(20)).await;
    assert_eq!(written("the disk is full"), 10, "a new burst");
}

#[test]
fn omitted_lines_of_a_cause_are_counted() {
    let budget = LineBudget::new();
    for _ in 0..30 {
        budget.take(Some("the disk is full"));
    }
    assert_eq!(budget.take(Some("the disk is gone")), Some(20));
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
        assert_eq!(lines.levels(), [Level::ERROR; 20]);
    });
}

#[tokio::test(start_paused = true)]
async fn the_access_log_setting_selects_the_logged_requests() {
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let failure = ApiError::unavailable("the store is gone");
    let outcomes = [Ok(StatusCode::OK), Err(&refusal), Err(&failure)];
    for (choice, expected) in [
        (AccessLog::All, [200, 200, 200]),
        (AccessLog::AllButProbes, [200, 200, 200]),
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

#[tokio::test(start_paused = true)]
async fn the_name_of_a_key_is_looked_up_only_for_a_line() {
    let caller = Caller { digest: ApiKeySecret::new("any").digest(), rights: KeyRights::Full };
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let failure = ApiError::unavailable("the store is gone");
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().times(110).returning(|_| Some(KeyLabel::Service));
    let lines = Lines::default();
    with_default(lines.clone(), || {
        let observer = logging(AccessLog::Errors, authenticator, None);
        let began = Instant::now();
        for outcome in [Ok(StatusCode::OK), Err(&refusal), Err(&failure)] {
            for _ in 0..200 {
                finish_of(&observer, began, outcome, Some(&caller));
            }
        }
    });
    let lines = lines.take();
    assert_eq!(lines.len(), 110);
    for (_, fields) in lines {
        assert!(
            fields.contains("peer=unix ") && fields.contains("key_name=\"service key\" "),
            "{fields}"
        );
    }
}

#[test]
fn a_duration_is_seconds_in_the_histogram_and_microseconds_in_the_line() {
    const TOOK: Duration = Duration::from_secs(7);
    let failure = ApiError::unavailable("the store is gone");
    for outcome in [Ok(StatusCode::OK), Err(&failure)] {
        let lines = Lines::default();
        let metrics = Arc::new(Metrics::new(operations()).unwrap());
        with_default(lines.clone(), || {
            let metrics = Some(Arc::clone(&metrics));
            let observer = logging(AccessLog::All, MockAuthenticator::new(), metrics);
            finish(&observer, Instant::now().checked_sub(TOOK).unwrap(), outcome);
        });
        // A slow machine may add seconds, but a wrong unit is off by a factor of at least 1,000.
        let about = TOOK.as_secs_f64()..100.0 * TOOK.as_secs_f64();
        let text = metrics.to_text(Vec::new()).unwrap();
        let sum = "petstore_http_request_duration_seconds_sum{route=\"none\"} ";
        let sum = text.lines().find_map(|line| line.strip_prefix(sum)).unwrap();
        assert!(about.contains(&sum.parse().unwrap()), "{sum}");
        let (_, line) = lines.take().remove(0);
        let micros = line.split(' ').find_map(|field| field.strip_prefix("micros=")).unwrap();
        assert!(about.contains(&(micros.parse::<f64>().unwrap() / 1e6)), "{line}");
    }
}

#[test]
fn each_kind_of_line_has_its_usual_fields() {
    let lines = Lines::default();
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let (failure, caller) = (
        ApiError::internal("a cause"),
        Caller { digest: ApiKeySecret::new("any").digest(), rights: KeyRights::Full },
    );
    with_default(lines.clone(), || {
        let mut authenticator = MockAuthenticator::new();
        authenticator.expect_key_label().returning(|_| Some(KeyLabel::Service));
        let observer = logging(AccessLog::All, authenticator, None);
        for outcome in [Ok(StatusCode::OK), Err(&refusal), Err(&failure)] {
            finish_of(&observer, Instant::now(), outcome, Some(&caller));
        }
        handshake_failed(&observer, Peer::Unix, NOT_TLS, &"an error");
    });
    let request = "environment request_id peer key_name method route status code micros";
    let expected = [
        format!("{request} message"),
        format!("{request} message"),
        format!("{request} message cause"),
        "environment peer reason error message".to_owned(),
    ];
    let lines = lines.take();
    assert_eq!(lines.len(), expected.len());
    for ((_, line), fields) in lines.iter().zip(&expected) {
        for field in fields.split(' ') {
            assert!(line.contains(&format!("{field}=")), "{field} is missing: {line}");
        }
    }
}
