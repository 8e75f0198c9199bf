//! Counters, gauges and histograms for Prometheus.
//!
//! A successful request increments series that were looked up when the server was created, so metrics cost at most 3 %
//! of a request. A server without a metrics listener has no [`Metrics`].

use std::{
    collections::BTreeSet,
    io,
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
use tokio_rustls::rustls::Error;

use crate::{
    observe::samples::{self, Sample},
    response::error::{ApiError, ErrorCode},
};

/// The upper bounds of the histogram of durations, in seconds: from a cached page to a very slow request.
const BUCKETS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// A reason of a failed TLS handshake: the client does not speak TLS; mostly it sends plain HTTP.
pub(crate) const NOT_TLS: &str = "not_tls";
/// The handshake was not complete within the header timeout.
pub(crate) const TIMEOUT: &str = "timeout";
/// The client closed the connection, as probes of load balancers do.
pub(crate) const DISCONNECTED: &str = "disconnected";
/// The client offers no version, cipher suite or protocol that the service supports.
const INCOMPATIBLE: &str = "incompatible";
/// The client has sent an alert; mostly it does not trust the certificate.
const REFUSED_BY_CLIENT: &str = "refused_by_client";
/// The client violates TLS, or the service is at fault.
const OTHER: &str = "other";

/// The values of the label `reason`.
const REASONS: [&str; 6] = [NOT_TLS, INCOMPATIBLE, REFUSED_BY_CLIENT, DISCONNECTED, TIMEOUT, OTHER];

/// Returns the reason of a failed handshake that began with the first byte of TLS.
pub(crate) fn handshake_reason(error: &io::Error) -> &'static str {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        // No error of TLS: the connection has failed or ended.
        None => DISCONNECTED,
        Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => INCOMPATIBLE,
        Some(Error::AlertReceived(_)) => REFUSED_BY_CLIENT,
        Some(_) => OTHER,
    }
}

/// The largest number of key names with a series of their own.
pub(crate) const MAX_NAMES: usize = 1000;
/// The label of the series of all other keys. No key has this name, because a name contains no space.
const OTHERS: &str = "other keys";

/// Defines the counters and gauges from a table of field, type, constructor, name and help text.
macro_rules! series {
    ($($field:ident: $type:ident::$new:ident($($labels:expr)?), $name:literal, $help:literal;)+) => {
        #[derive(Debug)]
        pub(crate) struct Series { $(pub(crate) $field: $type),+ }

        impl Series {
            fn register(registry: &Registry) -> prometheus::Result<Self> {
                Ok(Self {
                    $($field: register(registry, $type::$new(Opts::new($name, $help) $(, $labels)?)?)?),+
                })
            }
        }
    };
}

series! {
    requests: IntCounterVec::new(&["route", "method", "status"]),
        "petstore_http_requests_total", "Requests answered, by route, method and status.";
    in_flight: IntGauge::with_opts(),
        "petstore_http_requests_in_flight", "Requests being answered.";
    accepted_connections: IntCounter::with_opts(),
        "petstore_connections_accepted_total", "Connections that were accepted.";
    open_connections: IntGauge::with_opts(),
        "petstore_connections_open", "Connections that are open.";
    rejected: IntCounterVec::new(&["code"]),
        "petstore_rejected_requests_total", "Requests answered with an error, by its code.";
    store_errors: IntCounter::with_opts(),
        "petstore_store_errors_total", "Requests that failed because the store failed.";
    handshake_failures: IntCounterVec::new(&["reason"]),
        "petstore_tls_handshake_failures_total", "TLS handshakes that failed, by the reason.";
    page_hits: IntCounter::with_opts(),
        "petstore_page_cache_hits_total", "Pages and animals found in the cache.";
    page_misses: IntCounter::with_opts(),
        "petstore_page_cache_misses_total", "Pages and animals that were not in the cache.";
    deprecated: IntCounterVec::new(&["key"]), "petstore_deprecated_requests_total",
        "Requests for the deprecated operation getPet, by the name of the API key.";
    revoked: IntCounterVec::new(&["key"]), "petstore_revoked_key_requests_total",
        "Requests with a revoked API key, by its name.";
}

/// The counters, gauges and histograms of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) series: Series,
    durations: HistogramVec,
    /// The series of successful requests, by route, method and status.
    successes: Vec<((&'static str, &'static str, StatusCode), IntCounter, Histogram)>,
    /// The series of deprecated operations, by the caller.
    deprecated_callers: Cache<KeyDigest, IntCounter>,
    /// The names of API keys with series of their own. They are bounded, because the series of a deleted key remain.
    key_names: Mutex<BTreeSet<String>>,
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
    /// Creates the metrics of a new service. Each of `operations` is a path template, a method and a success status.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub(crate) fn new(
        operations: impl Iterator<Item = (&'static str, &'static str, StatusCode)>,
    ) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let build = Opts::new("petstore_build_info", "Always 1; the version of the service.");
        let build = build.const_label("version", env!("CARGO_PKG_VERSION"));
        register(&registry, IntGauge::with_opts(build)?)?.set(1);
        let durations = HistogramOpts::new(
            "petstore_http_request_duration_seconds",
            "The time from the head of a request to its answer.",
        );
        let durations = HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["route"])?;
        let (durations, series) = (register(&registry, durations)?, Series::register(&registry)?);
        // Series begin with value 0, because Prometheus does not see an increase in a series that begins with 1.
        for code in ErrorCode::ALL {
            series.rejected.with_label_values(&[code.as_str()]);
        }
        for reason in REASONS {
            series.handshake_failures.with_label_values(&[reason]);
        }
        let mut successes = Vec::new();
        for (template, method, success) in operations {
            let of = |status: StatusCode| {
                series.requests.with_label_values(&[template, method, status.as_str()])
            };
            let statuses = ErrorCode::ALL.iter().map(|code| code.status());
            statuses.filter(StatusCode::is_server_error).map(of).for_each(drop);
            let durations = durations.with_label_values(&[template]);
            successes.push(((template, method, success), of(success), durations));
        }
        let (deprecated_callers, key_names) = (Cache::new(MAX_NAMES), Mutex::default());
        Ok(Self { registry, series, durations, successes, deprecated_callers, key_names })
    }

    /// Counts an answered request.
    pub(crate) fn count_request(
        &self,
        route: &str,
        method: &str,
        outcome: Result<StatusCode, &ApiError>,
        took: Duration,
    ) {
        let status = outcome.unwrap_or_else(|error| error.code.status());
        if let Err(ApiError { code, by_store, .. }) = outcome {
            self.series.rejected.with_label_values(&[code.as_str()]).inc();
            self.series.store_errors.inc_by((*by_store).into());
        }
        let took = took.as_secs_f64();
        let mut successes = self.successes.iter();
        if let Some((_, count, durations)) =
            successes.find(|(series, ..)| *series == (route, method, status))
        {
            count.inc();
            return durations.observe(took);
        }
        self.series.requests.with_label_values(&[route, method, status.as_str()]).inc();
        self.durations.with_label_values(&[route]).observe(took);
    }

    /// Counts a call of a deprecated operation. `keys` returns the label of the key of `caller`.
    pub(crate) fn count_deprecated(&self, caller: &Caller, keys: &dyn Authenticator) {
        if let Some(count) = self.deprecated_callers.get(&caller.digest) {
            return count.inc();
        }
        let Some(label) = keys.key_label(caller) else { return };
        let count = self.of_key(&self.series.deprecated, label.as_str());
        count.inc();
        self.deprecated_callers.insert(caller.digest, count);
    }

    /// Returns the series of the API key `name` in `counts`, or the series of all other keys if [`MAX_NAMES`] names
    /// have series. A new series has value 0.
    pub(crate) fn of_key(&self, counts: &IntCounterVec, name: &str) -> IntCounter {
        let mut names = self.key_names.lock().unwrap_or_else(PoisonError::into_inner);
        let own = names.contains(name) || names.len() < MAX_NAMES && names.insert(name.to_owned());
        counts.with_label_values(&[if own { name } else { OTHERS }])
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub(crate) fn begin_request(&self) -> GaugeGuard<'_> {
        self.series.in_flight.inc();
        GaugeGuard(&self.series.in_flight)
    }

    /// Counts a connection as accepted, and as open until the returned value is dropped.
    pub(crate) fn begin_connection(&self) -> GaugeGuard<'_> {
        self.series.accepted_connections.inc();
        self.series.open_connections.inc();
        GaugeGuard(&self.series.open_connections)
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
    metric: C,
) -> prometheus::Result<C> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

#[cfg(test)]
mod tests {
    use std::io;

    use tokio_rustls::rustls::{AlertDescription, Error, PeerIncompatible};

    use super::handshake_reason;

    #[test]
    fn a_failed_handshake_has_a_reason() {
        for (error, reason) in [
            (Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon), "incompatible"),
            (Error::NoApplicationProtocol, "incompatible"),
            (Error::AlertReceived(AlertDescription::UnknownCA), "refused_by_client"),
            (Error::DecryptError, "other"),
        ] {
            assert_eq!(handshake_reason(&io::Error::other(error)), reason);
        }
        assert_eq!(handshake_reason(&io::ErrorKind::ConnectionReset.into()), "disconnected");
    }
}
