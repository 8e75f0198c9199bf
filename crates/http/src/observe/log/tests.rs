use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use hyper::{Request, StatusCode};
use petstore_domain::{
    ApiKeySecret, Caller, KeyLabel, KeyRights, MockAuthenticator, MockPetService,
};
use tokio::time::{Instant, advance};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::Field,
    span,
    subscriber::{NoSubscriber, set_default, with_default},
};

use super::{handshake_failed, method, record};
use crate::{
    observe::metrics::{Metrics, NOT_TLS},
    rate_limit::LineBudget,
    request::{Peer, auth::Credential},
    response::error::{ApiError, ErrorCode},
    route::operations,
    settings::{AccessLog, Settings},
    state::{State, tests::ports},
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

fn logging(access_log: AccessLog, authenticator: MockAuthenticator) -> State {
    let environment = Some("blue".to_owned());
    let settings = Settings { environment, access_log, ..Settings::default() };
    let metrics = Arc::new(Metrics::new(operations()).unwrap());
    State::new(ports(MockPetService::new(), authenticator), settings, Some(metrics))
}

/// Records a request with a key.
fn finish(
    state: &State,
    route: &'static str,
    began: Instant,
    outcome: Result<StatusCode, &ApiError>,
) {
    let (head, ()) = Request::new(()).into_parts();
    let digest = ApiKeySecret::new("any").digest();
    let caller = Some(Caller { digest, rights: KeyRights::Full });
    let credential = Credential { caller, refused: None };
    record(state, Peer::Unix, Some(&head), Some(route), &credential, began, outcome);
}

/// Returns an authenticator that must look up the name of a key `times` times.
fn with_lookups(times: usize) -> MockAuthenticator {
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().times(times).returning(|_| Some(KeyLabel::Service));
    authenticator
}

#[tokio::test(start_paused = true)]
async fn the_access_log_setting_selects_the_lines_and_only_a_line_looks_up_a_name() {
    let refusal = ApiError::new(ErrorCode::InvalidQuery, "nothing");
    let [full, gone] = ["full", "gone"].map(ApiError::unavailable);
    // 200 requests each, the last after a second.
    let requests = [
        ("/v1/pets", Ok(StatusCode::OK), Level::INFO),
        ("/livez", Ok(StatusCode::OK), Level::INFO),
        ("/livez", Err(&refusal), Level::INFO),
        ("/v1/pets", Err(&full), Level::ERROR),
        ("/readyz", Err(&gone), Level::ERROR),
        ("/v1/pets", Err(&refusal), Level::INFO),
    ];
    for (choice, numbers) in [
        (AccessLog::All, [200, 200, 200, 200, 200, 200]),
        (AccessLog::AllButProbes, [200, 0, 200, 200, 200, 200]),
        (AccessLog::Errors, [0, 0, 100, 10, 10, 100]),
        (AccessLog::Off, [0, 0, 0, 10, 10, 0]),
    ] {
        let lines = Lines::default();
        let _guard = set_default(lines.clone());
        let observer = logging(choice, with_lookups(numbers.iter().sum()));
        for (at, ((route, outcome, level), number)) in requests.into_iter().zip(numbers).enumerate()
        {
            if at + 1 == requests.len() {
                advance(Duration::from_secs(1)).await;
            }
            (0..200).for_each(|_| finish(&observer, route, Instant::now(), outcome));
            let written = lines.take();
            let case = format!("{choice:?} {route} {outcome:?}");
            assert_eq!(written.len(), number, "{case}");
            assert!(written.iter().all(|(found, _)| *found == level), "{case}");
            let counts = written.iter().filter(|(_, line)| line.contains("unwritten=100 "));
            let is_later = choice == AccessLog::Errors && at + 1 == requests.len();
            assert_eq!(counts.count(), usize::from(is_later), "{case}");
        }
    }
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
        let observer = logging(choice, with_lookups(0));
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
        let counts = &observer.metrics.as_ref().unwrap().series.handshake_failures;
        assert_eq!(counts.with_label_values(&[NOT_TLS]).get(), 51, "{choice:?}");
        let lines = lines.take();
        assert_eq!(
            lines.iter().any(|(_, line)| line.contains("unwritten=40")),
            choice == AccessLog::Errors,
            "{lines:?}"
        );
        for budget in [&observer.refusal_lines, &observer.failure_lines] {
            let lines = (0..200).filter(|_| budget.take(None).is_some()).count();
            assert_eq!(lines, 100, "a handshake takes no line of requests");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_has_a_hundred_lines_and_the_next_line_counts_the_omitted_lines() {
    let budget = LineBudget::new();
    for second in 0..3 {
        for number in 0..100 {
            let left_out = if second > 0 && number == 0 { 7 } else { 0 };
            assert_eq!(budget.take(Some(&number.to_string())), Some(left_out));
        }
        for _ in 0..7 {
            assert_eq!(budget.take(None), None);
        }
        advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cause_has_ten_lines_at_once_and_then_one_a_second() {
    let budget = LineBudget::new();
    let written = |cause| (0..50).filter(|_| budget.take(Some(cause)).is_some()).count();
    assert_eq!(written("the disk is full"), 10);
    assert_eq!(budget.take(Some("the disk is gone")), Some(40), "omitted lines");
    assert_eq!(written("the disk is gone"), 9);
    for _ in 0..20 {
        advance(Duration::from_secs(1)).await;
        assert_eq!(written("the disk is full"), 1);
    }
    advance(Duration::from_secs(20)).await;
    assert_eq!(written("the disk is full"), 10, "a new burst");
}

#[test]
fn a_duration_is_seconds_in_the_histogram_and_microseconds_in_the_line() {
    const TOOK: Duration = Duration::from_secs(7);
    let failure = ApiError::unavailable("the store is gone");
    for outcome in [Ok(StatusCode::OK), Err(&failure)] {
        let lines = Lines::default();
        let observer = logging(AccessLog::All, with_lookups(1));
        with_default(lines.clone(), || {
            finish(&observer, "/livez", Instant::now().checked_sub(TOOK).unwrap(), outcome);
        });
        // A slow machine may add seconds, but a wrong unit is off by a factor of at least 1,000.
        let about = TOOK.as_secs_f64()..100.0 * TOOK.as_secs_f64();
        let text = observer.metrics.unwrap().to_text(Vec::new()).unwrap();
        let sum = "petstore_http_request_duration_seconds_sum{route=\"/livez\"} ";
        let sum = text.lines().find_map(|line| line.strip_prefix(sum)).unwrap();
        assert!(about.contains(&sum.parse().unwrap()), "{sum}");
        let (_, line) = lines.take().remove(0);
        let micros = line.split(' ').find_map(|field| field.strip_prefix("micros=")).unwrap();
        assert!(about.contains(&(micros.parse::<f64>().unwrap() / 1e6)), "{line}");
    }
}

#[test]
fn a_line_and_the_metrics_name_the_standard_methods_alone() {
    let all = "GET HEAD POST OPTIONS PUT DELETE PATCH TRACE CONNECT";
    for (sent, named) in all.split(' ').map(|it| (it, it)).chain([("get", "other"), ("X", "other")])
    {
        let (head, ()) = Request::builder().method(sent).body(()).unwrap().into_parts();
        assert_eq!(method(Some(&head)), named);
    }
}

#[test]
fn each_kind_of_line_has_its_usual_fields() {
    let lines = Lines::default();
    let refusal = ApiError::new(ErrorCode::RouteNotFound, "nothing");
    let failure = ApiError::internal("a cause");
    with_default(lines.clone(), || {
        let observer = logging(AccessLog::All, with_lookups(3));
        for outcome in [Ok(StatusCode::OK), Err(&refusal), Err(&failure)] {
            finish(&observer, "/livez", Instant::now(), outcome);
        }
        handshake_failed(&observer, Peer::Unix, NOT_TLS, &"an error");
    });
    let request = "environment= request_id= peer=unix key_name=\"service method= route= status= \
                   code= micros= message=";
    let failure = format!("{request} cause=");
    let handshake = "environment= peer=unix reason= error= message=";
    let lines = lines.take();
    assert_eq!(lines.len(), 4);
    for ((_, line), fields) in lines.iter().zip([request, request, &failure, handshake]) {
        for field in fields.split(' ') {
            assert!(line.contains(field), "{field} is missing: {line}");
        }
        assert!(!line.contains("unwritten="), "no line was omitted: {line}");
    }
}
