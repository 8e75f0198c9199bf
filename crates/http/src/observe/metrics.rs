//! Counters for Prometheus.
//!
//! A successful request increments series that were looked up at the start, so metrics cost at most 3 % of a request. A
//! server without a metrics listener has no [`Metrics`].

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hyper::StatusCode;
use petstore_domain::{Authenticator, Caller, KeyDigest};
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder, core::Collector,
};
use quick_cache::sync::Cache;

use crate::{
    observe::{
        handshakes::REASONS,
        samples::{self, Sample},
    },
    response::error::ErrorCode,
};

/// The upper bounds of the histogram of durations, in seconds: from a cached page to a request near the timeout.
const BUCKETS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// The largest number of key names with a series of their own.
pub(crate) const MAX_NAMES: usize = 1000;
/// The series of all other keys. No key has this name, because a name contains no space.
const OTHERS: &str = "other keys";

/// The counters, gauges and histograms of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    /// The series of successful requests, by route, method and status.
    successes: Vec<((&'static str, &'static str, StatusCode), IntCounter, Histogram)>,
    in_flight: IntGauge,
    accepted_connections: IntCounter,
    open_connections: IntGauge,
    rejected: IntCounterVec,
    store_errors: IntCounter,
    handshake_failures: IntCounterVec,
    page_hits: IntCounter,
    page_misses: IntCounter,
    /// Calls of deprecated operations.
    pub(crate) deprecated: ByKey,
    /// The series of `deprecated`, by the caller.
    deprecated_callers: Cache<KeyDigest, IntCounter>,
    /// Requests with a revoked key.
    pub(crate) revoked: ByKey,
}

/// An increment of a gauge, undone on drop.
#[derive(Debug)]
pub(crate) struct GaugeGuard<'m>(&'m IntGauge);

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Creates the metrics of a new service with these routes.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub(crate) fn new(
        operations: impl Iterator<Item = (&'static str, &'static str, StatusCode)>,
    ) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let build = Opts::new("petstore_build_info", "Always 1; the version of the service.");
        let build = build.const_label("version", env!("CARGO_PKG_VERSION"));
        register(&registry, IntGauge::with_opts(build))?.set(1);
        let durations = HistogramOpts::new(
            "petstore_http_request_duration_seconds",
            "The time from the head of a request to its answer.",
        );
        let durations = HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["route"]);
        let [in_flight, open_connections] = [
            ("petstore_http_requests_in_flight", "Requests being answered."),
            ("petstore_connections_open", "Connections that are open."),
        ]
        .map(|(name, help)| register(&registry, IntGauge::new(name, help)));
        let [accepted_connections, store_errors, page_hits, page_misses] = [
            ("petstore_connections_accepted_total", "Connections that were accepted."),
            ("petstore_store_errors_total", "Requests that failed because the store did."),
            ("petstore_page_cache_hits_total", "Pages and animals found in the cache."),
            ("petstore_page_cache_misses_total", "Pages and animals that were not in the cache."),
        ]
        .map(|(name, help)| register(&registry, IntCounter::new(name, help)));
        let by = |labels: &[&str], name, help| {
            register(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let (name, help) = ("petstore_http_requests_total", "Requests whose answer is known.");
        let requests = by(&["route", "method", "status"], name, help)?;
        let help = "Requests answered with an error, by its code.";
        let rejected = by(&["code"], "petstore_rejected_requests_total", help)?;
        let help = "TLS handshakes that failed, by the reason.";
        let handshake_failures = by(&["reason"], "petstore_tls_handshake_failures_total", help)?;
        let help = "Requests for the deprecated operation getPet, by the name of the API key.";
        let deprecated = by(&["key"], "petstore_deprecated_requests_total", help)?;
        let help = "Requests with a revoked API key, by its name.";
        let revoked = by(&["key"], "petstore_revoked_key_requests_total", help)?;
        let mut metrics = Self {
            requests,
            durations: register(&registry, durations)?,
            successes: Vec::new(),
            in_flight: in_flight?,
            accepted_connections: accepted_connections?,
            open_connections: open_connections?,
            rejected,
            store_errors: store_errors?,
            handshake_failures,
            page_hits: page_hits?,
            page_misses: page_misses?,
            deprecated: ByKey { counts: deprecated, names: Mutex::default() },
            deprecated_callers: Cache::new(MAX_NAMES),
            revoked: ByKey { counts: revoked, names: Mutex::default() },
            registry,
        };
        metrics.expect(operations);
        Ok(metrics)
    }

    /// Creates series with value 0. Prometheus does not see an increase in a series that begins with 1.
    fn expect(
        &mut self,
        operations: impl Iterator<Item = (&'static str, &'static str, StatusCode)>,
    ) {
        for code in ErrorCode::ALL {
            self.rejected.with_label_values(&[code.as_str()]);
        }
        for reason in REASONS {
            self.handshake_failures.with_label_values(&[reason]);
        }
        for (template, method, success) in operations {
            let of = |status: StatusCode| {
                self.requests.with_label_values(&[template, method, status.as_str()])
            };
            let statuses = ErrorCode::ALL.iter().map(|code| code.status());
            statuses.filter(StatusCode::is_server_error).map(of).for_each(drop);
            let durations = self.durations.with_label_values(&[template]);
            self.successes.push(((template, method, success), of(success), durations));
        }
    }

    /// Counts an answered request.
    pub(crate) fn count_request(
        &self,
        route: &str,
        method: &str,
        status: StatusCode,
        took: Duration,
    ) {
        let took = took.as_secs_f64();
        let mut successes = self.successes.iter();
        if let Some((_, count, durations)) =
            successes.find(|(series, ..)| *series == (route, method, status))
        {
            count.inc();
            return durations.observe(took);
        }
        self.requests.with_label_values(&[route, method, status.as_str()]).inc();
        self.durations.with_label_values(&[route]).observe(took);
    }

    /// Counts a call of a deprecated operation. `keys` returns the label of the key of `caller`.
    pub(crate) fn count_deprecated(&self, caller: &Caller, keys: &dyn Authenticator) {
        if let Some(count) = self.deprecated_callers.get(&caller.digest) {
            return count.inc();
        }
        let Some(label) = keys.key_label(caller) else { return };
        let count = self.deprecated.series(label.as_str());
        count.inc();
        self.deprecated_callers.insert(caller.digest, count);
    }

    /// Counts a request that was answered with the error `code`.
    pub(crate) fn rejected(&self, code: &'static str, by_store: bool) {
        self.rejected.with_label_values(&[code]).inc();
        if by_store {
            self.store_errors.inc();
        }
    }

    /// Counts a failed TLS handshake.
    pub(crate) fn handshake_failed(&self, reason: &str) {
        self.handshake_failures.with_label_values(&[reason]).inc();
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub(crate) fn begin_request(&self) -> GaugeGuard<'_> {
        self.in_flight.inc();
        GaugeGuard(&self.in_flight)
    }

    /// Counts a connection as accepted, and as open until the returned value is dropped.
    pub(crate) fn begin_connection(&self) -> GaugeGuard<'_> {
        self.accepted_connections.inc();
        self.open_connections.inc();
        GaugeGuard(&self.open_connections)
    }

    /// Counts a lookup in the page cache.
    pub(crate) fn page_looked_up(&self, found: bool) {
        if found { &self.page_hits } else { &self.page_misses }.inc();
    }

    /// Returns the metrics and `samples` in the text format of Prometheus.
    ///
    /// # Errors
    /// A metric cannot be written.
    pub(crate) fn to_text(&self, samples: Vec<Sample>) -> prometheus::Result<String> {
        let mut text = TextEncoder::new().encode_to_string(&self.registry.gather())?;
        samples::write(&mut text, samples);
        Ok(text)
    }
}

/// Registers a metric and returns it.
fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    made: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let metric = made?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// Requests by the name of an API key. The number of series is bounded, because the series of a deleted key remains.
#[derive(Debug)]
pub(crate) struct ByKey {
    counts: IntCounterVec,
    names: Mutex<BTreeSet<String>>,
}

impl ByKey {
    /// Returns the series of the key `name`, with value 0 if it is new.
    pub(crate) fn series(&self, name: &str) -> IntCounter {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let own = names.contains(name) || names.len() < MAX_NAMES && names.insert(name.to_owned());
        self.counts.with_label_values(&[if own { name } else { OTHERS }])
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{IntCounterVec, Opts};

    use super::{ByKey, MAX_NAMES, Mutex, OTHERS};

    #[test]
    fn a_thousand_names_have_series_of_their_own() {
        let counts = IntCounterVec::new(Opts::new("calls_total", "Calls."), &["key"]).unwrap();
        let calls = ByKey { counts: counts.clone(), names: Mutex::default() };
        for _ in 0..2 {
            for key in 0..MAX_NAMES + 3 {
                calls.series(&format!("key-{key}")).inc();
            }
        }
        assert_eq!(counts.with_label_values(&["key-0"]).get(), 2);
        assert_eq!(counts.with_label_values(&["key-999"]).get(), 2);
        assert_eq!(counts.with_label_values(&[OTHERS]).get(), 6);
    }
}
