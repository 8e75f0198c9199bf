//! The metrics of keys, and scrapes beside a hanging store.

use std::sync::Arc;

use async_trait::async_trait;
use hyper::Request;
use petstore_domain::{
    ApiKeySecret, AuthenticationError, Authenticator, Caller, KeyLabel, KeyName, NamedKey,
    StoreError, Timestamp,
};

use tokio::time::Instant;
use tracing::{Level, subscriber::set_default};

use super::{Duration, Monitor, READ_TIMEOUT};
use crate::{
    answer::ask,
    observe::{
        log::tests::Lines,
        metrics::{MAX_NAMES, Metrics},
    },
    response::Response,
    route::operations,
    settings::Settings,
    state::{
        State,
        tests::{SlowPets, ports},
    },
};

/// An authenticator whose keys the metrics read.
#[derive(Debug)]
struct Keys {
    /// `true` if reading the keys never ends.
    hang: bool,
    named: Vec<NamedKey>,
}

#[async_trait]
impl Authenticator for Keys {
    async fn authenticate(&self, _: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        unreachable!("the metrics check no key")
    }

    async fn authenticate_again(&self, _: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        unreachable!("the metrics check no key")
    }

    fn key_label(&self, _: &Caller) -> Option<KeyLabel> {
        None
    }

    async fn live_keys(&self) -> Result<usize, StoreError> {
        if self.hang { std::future::pending().await } else { Ok(7) }
    }

    fn named_keys(&self) -> Vec<NamedKey> {
        self.named.clone()
    }
}

/// Returns the metrics of a service with these keys.
async fn scrape(named: Vec<NamedKey>) -> String {
    let answer = get("/metrics", SlowPets::default(), Keys { hang: false, named }).await;
    assert_eq!(answer.status(), 200);
    String::from_utf8_lossy(answer.body()).into_owned()
}

async fn get(path: &str, pets: SlowPets, keys: Keys) -> Response {
    let ports = ports(pets, keys);
    let settings = Settings { environment: Some("blue".to_owned()), ..Settings::default() };
    let monitor = Monitor {
        service: Arc::new(State::new(ports, settings, None)),
        metrics: Arc::new(Metrics::new(operations()).unwrap()),
        samples: Arc::new(Vec::new),
    };
    let request = Request::get(path).header("host", "a").body("").unwrap();
    ask(&monitor.into_state(), request).await
}

#[tokio::test(start_paused = true)]
async fn the_metrics_listener_reports_in_time_that_a_hanging_store_is_not_ready() {
    let (began, lines) = (Instant::now(), Lines::default());
    let _guard = set_default(lines.clone());
    let pets = SlowPets { takes: Duration::MAX, ..SlowPets::default() };
    let answer = get("/readyz", pets, Keys { hang: false, named: Vec::new() }).await;
    assert_eq!((answer.status().as_u16(), began.elapsed().as_secs()), (503, 6));
    let written = lines.take();
    let [(Level::ERROR, line)] = &written[..] else { panic!("{written:?}") };
    for field in [" environment=\"blue\" ", "longer than 6s"] {
        assert!(line.contains(field), "{line}");
    }
    // A refusal is no failure.
    let refused =
        get("/nothing", SlowPets::default(), Keys { hang: false, named: Vec::new() }).await;
    assert_eq!((refused.status().as_u16(), lines.take().len()), (404, 0));
}

#[tokio::test(start_paused = true)]
async fn the_metrics_omit_keys_if_they_cannot_be_read_in_time() {
    let named = vec![named("web", Some(1000))];
    let pets = SlowPets { takes: Duration::MAX, ..SlowPets::default() };
    let began = Instant::now();
    let answer = get("/metrics", pets, Keys { hang: true, named }).await;
    assert_eq!(began.elapsed(), READ_TIMEOUT);
    let text = String::from_utf8_lossy(answer.body());
    assert!(text.contains("\npetstore_page_cache_pages 0\n"), "{text}");
    assert!(!text.contains("petstore_live_keys") && !text.contains("web"), "{text}");
}

/// An alert on the increase of a counter misses the first call if this call creates the counter.
#[tokio::test]
async fn every_key_has_its_counters_before_the_first_call() {
    let service = NamedKey { label: KeyLabel::Service, expires_at: None };
    let text = scrape(vec![named("web", None), service]).await;
    for counter in [
        "petstore_deprecated_requests_total{key=\"service key\"} 0",
        "petstore_deprecated_requests_total{key=\"web\"} 0",
        "petstore_revoked_key_requests_total{key=\"web\"} 0",
        "petstore_live_keys 7",
    ] {
        assert!(text.contains(&format!("\n{counter}\n")), "{counter}: {text}");
    }
}

/// Returns a key of this name that expires `end` milliseconds after 1970.
fn named(name: &str, end: Option<i64>) -> NamedKey {
    let label = KeyLabel::Stored(KeyName::parse(name).unwrap());
    NamedKey { label, expires_at: end.map(Timestamp) }
}

#[tokio::test]
async fn a_name_has_the_expiry_of_its_newest_key() {
    let keys = [("web", Some(9000)), ("shop", Some(9000)), ("web", Some(7999)), ("shop", None)];
    let named = keys.map(|(name, end)| named(name, end)).into();
    let text = scrape(named).await;
    let lines = text.lines().filter(|line| line.starts_with("petstore_key_expiry"));
    let expected = ["petstore_key_expiry_timestamp_seconds{key=\"web\"} 7"];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_metrics_have_the_expiry_of_the_thousand_names_that_expire_first() {
    let max = i64::try_from(MAX_NAMES).unwrap();
    let keys =
        (0..max + 200).map(|age| named(&format!("key-{age}"), Some((max + 200 - age) * 1000)));
    let text = scrape(keys.collect()).await;
    let of = |family: &str| text.lines().filter(|line| line.starts_with(family)).count();
    assert_eq!(of("petstore_key_expiry_timestamp_seconds{"), MAX_NAMES);
    assert!(text.contains("_seconds{key=\"key-1199\"} 1\n"), "{text}");
    assert!(!text.contains("_seconds{key=\"key-199\"}"), "{text}");
    // The other 200 names share one series.
    assert_eq!(of("petstore_deprecated_requests_total{"), MAX_NAMES + 1);
}
