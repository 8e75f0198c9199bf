//! The observer of answered requests: counts them for the metrics, and writes at most one log line for each.
//!
//! A line names the template of the route, never the path, the query or a header except the request id. It names an API key
//! by its name and never contains the key.

use std::{
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{HeaderMap, Method, StatusCode, header::HeaderValue};
use petstore_domain::Authenticator;
use tokio::time::Instant;
use tracing::field::{DisplayValue, display};

use crate::{
    observe::{
        handshakes::{DISCONNECTED, NOT_TLS},
        ids::TraceContext,
        metrics::Metrics,
    },
    rate_limit::RateLimit,
    request::{
        Peer,
        auth::Credential,
        forwarded::{self, TrustedProxy},
    },
    response::error::ApiError,
    settings::{AccessLog, Settings},
};

/// The methods that HTTP defines (RFC 9110, section 9.3; RFC 5789).
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"];

/// The routes of health checks.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// The largest number of lines per second about refused requests, and about failures, unless every request is logged.
/// Neither a faulty client nor a lost store may fill the disk.
const MAX_LINES_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
const SECOND: Duration = Duration::from_secs(1);
/// The burst of one cause, which has one line per second otherwise. So the first failures are found by their request ids.
const CAUSE_BURST: Duration = Duration::from_secs(10);

/// An answered request, for the log and the metrics.
#[derive(Debug)]
pub(crate) struct RequestRecord<'r> {
    pub(crate) request_id: &'r HeaderValue,
    pub(crate) peer: Peer,
    /// `None` if the head did not arrive.
    pub(crate) headers: Option<&'r HeaderMap>,
    /// `None` if the head did not arrive.
    pub(crate) method: Option<&'r Method>,
    /// The template of the route; `None` if there is no route or the head did not arrive.
    pub(crate) route: Option<&'static str>,
    pub(crate) credential: &'r Credential,
    /// `None` if the request belongs to no trace.
    pub(crate) trace: Option<&'r TraceContext>,
    pub(crate) began: Instant,
    pub(crate) outcome: Result<StatusCode, &'r ApiError>,
}

/// Writes the line of a request: the fields of every line, `more` fields, and the message.
macro_rules! line {
    ($level:ident, $observer:expr, $request:expr, $status:expr, $code:expr, $($more:tt)+) => {
        tracing::$level!(
            environment = $observer.environment,
            request_id = $request.request_id(),
            peer = %$request.peer,
            client = $observer.client($request),
            key_name = $observer.key_name($request),
            trace_id = $request.trace.map(TraceContext::id),
            method = $request.method(),
            route = $request.route(),
            status = $status.as_u16(),
            code = $code,
            micros = $request.micros(),
            $($more)+
        )
    };
}

/// Records each answered request exactly once.
pub(crate) struct Observer {
    /// The name of the deployment.
    environment: Option<String>,
    access_log: AccessLog,
    trusted_proxies: Vec<TrustedProxy>,
    /// The source of key names, asked only when a line is written.
    authenticator: Arc<dyn Authenticator>,
    metrics: Option<Arc<Metrics>>,
    refusals: LineBudget,
    failures: LineBudget,
    handshakes: LineBudget,
}

impl Observer {
    /// Creates an observer. `authenticator` provides the names of API keys.
    pub(crate) fn new(
        settings: &Settings,
        authenticator: Arc<dyn Authenticator>,
        metrics: Option<Arc<Metrics>>,
    ) -> Self {
        Self {
            environment: settings.environment.clone(),
            access_log: settings.access_log,
            trusted_proxies: settings.trusted_proxies.clone(),
            authenticator,
            metrics,
            refusals: LineBudget::new(),
            failures: LineBudget::new(),
            handshakes: LineBudget::new(),
        }
    }

    /// Counts a request, and writes its log line if the settings and the budget allow one.
    pub(crate) fn record(&self, request: &RequestRecord<'_>) {
        if let Some(metrics) = &self.metrics {
            request.count(metrics);
        }
        let status = request.status();
        let error = request.outcome.err();
        let cause = error.and_then(|error| error.cause.as_deref());
        let is_probe = PROBES.contains(&request.route());
        let budget = match (self.access_log, cause) {
            (AccessLog::AllButProbes, None) if is_probe && status == StatusCode::OK => return,
            (AccessLog::All | AccessLog::AllButProbes, _) => None,
            (AccessLog::Errors | AccessLog::Off, Some(_)) => Some(&self.failures),
            (AccessLog::Errors, None) if status.as_u16() >= 400 => Some(&self.refusals),
            (AccessLog::Errors | AccessLog::Off, None) => return,
        };
        let unwritten = budget.map_or(Some(0), |budget| budget.take(cause));
        let Some(unwritten) = unwritten else { return };
        let code = error.map_or("", |error| error.code.as_str());
        if let Some(cause) = cause {
            let unwritten = (unwritten > 0).then_some(unwritten);
            line!(error, self, request, status, code, cause, unwritten, "request failed");
        } else {
            if unwritten > 0 {
                tracing::warn!(unwritten, failed = false, "some requests were not logged");
            }
            line!(info, self, request, status, code, "request");
        }
    }

    /// Returns the client behind trusted proxies.
    fn client(&self, request: &RequestRecord<'_>) -> Option<DisplayValue<IpAddr>> {
        let client = forwarded::client(&self.trusted_proxies, request.peer, request.headers?);
        client.map(display)
    }

    /// Counts a failed TLS handshake, and writes its log line if the settings and the budget allow one. A reason has the
    /// budget of a cause. Clients that only connect, such as probes of load balancers, have no line.
    pub(crate) fn handshake_failed(
        &self,
        peer: Peer,
        reason: &'static str,
        error: &dyn fmt::Display,
    ) {
        if let Some(metrics) = &self.metrics {
            metrics.handshake_failed(reason);
        }
        let unwritten = match self.access_log {
            AccessLog::AllButProbes | AccessLog::Errors if reason == DISCONNECTED => None,
            AccessLog::All | AccessLog::AllButProbes => Some(0),
            AccessLog::Errors => self.handshakes.take(Some(reason)),
            AccessLog::Off => None,
        };
        let Some(unwritten) = unwritten else { return };
        let unwritten = (unwritten > 0).then_some(unwritten);
        let message = if reason == NOT_TLS {
            "a client does not speak TLS but plain HTTP or another protocol"
        } else {
            "a TLS handshake failed"
        };
        tracing::info!(environment = self.environment, %peer, reason, %error, unwritten, "{message}");
    }

    fn key_name(&self, request: &RequestRecord<'_>) -> Option<String> {
        let Credential { caller, refused } = request.credential;
        let of_caller = || self.authenticator.key_label(caller.as_ref()?);
        let label = refused.clone().or_else(of_caller);
        label.map(|label| label.as_str().to_owned())
    }
}

/// Bounds the lines of one kind.
struct LineBudget {
    all: RateLimit<()>,
    /// The rate of each cause, by the hash of its text.
    causes: RateLimit<u64>,
    /// The number of omitted lines since the last written line.
    unwritten: AtomicU64,
}

impl LineBudget {
    /// Creates an unused budget.
    fn new() -> Self {
        let all = RateLimit::new(MAX_LINES_PER_SECOND);
        let causes = RateLimit::with_burst(SECOND, CAUSE_BURST);
        Self { all, causes, unwritten: AtomicU64::new(0) }
    }

    /// Takes one line. Returns the number of omitted lines since the last written line, or `None` if the budget of this kind
    /// or of `cause` is used up.
    fn take(&self, cause: Option<&str>) -> Option<u64> {
        let has_line = |cause: &str| {
            let mut hasher = DefaultHasher::new();
            cause.hash(&mut hasher);
            self.causes.try_acquire(hasher.finish())
        };
        if cause.is_none_or(has_line) && self.all.try_acquire(()) {
            return Some(self.unwritten.swap(0, Ordering::Relaxed));
        }
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl RequestRecord<'_> {
    fn count(&self, metrics: &Metrics) {
        metrics.count_request(self.route(), self.method(), self.status(), self.began.elapsed());
        if let Err(error) = self.outcome {
            metrics.rejected(error.code.as_str(), error.by_store);
        }
    }

    fn status(&self) -> StatusCode {
        self.outcome.unwrap_or_else(|error| error.code.status())
    }

    fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    fn route(&self) -> &'static str {
        self.route.unwrap_or("none")
    }

    /// Returns the method, or `other` for a method that HTTP does not define: a log line repeats no text of the client.
    fn method(&self) -> &'static str {
        let Some(sent) = self.method else { return "none" };
        METHODS.into_iter().find(|known| sent == known).unwrap_or("other")
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests;
