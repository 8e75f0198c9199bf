//! The observer of finished requests. It counts them for the metrics if there are any, and writes the log:
//! one line for a request, at most, with its cause if the service itself failed.
//!
//! A line names the route's template, never the path, the query or a header but the request id, and of an API
//! key only its name: the key itself cannot get into it.

mod budget;

use std::{fmt, sync::Arc, time::Instant};

use hyper::{Method, StatusCode, header::HeaderValue};
use petstore_domain::{Authenticator, Caller};

use self::budget::LineBudget;
use crate::{
    observe::{ids::TraceContext, metrics::Metrics},
    request::peer::Peer,
    response::error::ApiError,
    settings::AccessLog,
};

/// A request whose answer is known.
#[derive(Debug)]
pub(crate) struct Finished<'r> {
    pub(crate) request_id: &'r HeaderValue,
    /// Where it came from.
    pub(crate) peer: Peer,
    /// `None` if it did not arrive.
    pub(crate) method: Option<&'r Method>,
    /// The template of its route; `None` if it has none, or the target did not arrive.
    pub(crate) route: Option<&'static str>,
    /// `None` if it has no valid key, or needs none.
    pub(crate) caller: Option<&'r Caller>,
    /// `None` if it belongs to none.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) began: Instant,
    pub(crate) outcome: Result<StatusCode, &'r ApiError>,
}

/// Sees each finished request exactly once.
pub(crate) struct Observer {
    access_log: AccessLog,
    /// Knows the names of API keys. It is asked only when a line is written.
    authenticator: Arc<dyn Authenticator>,
    metrics: Option<Arc<Metrics>>,
    refusals: LineBudget,
    failures: LineBudget,
}

impl Observer {
    /// An observer that writes the lines that `access_log` asks for, with the names that `authenticator` has
    /// for API keys, and counts in `metrics`.
    pub(crate) fn new(
        access_log: AccessLog,
        authenticator: Arc<dyn Authenticator>,
        metrics: Option<Arc<Metrics>>,
    ) -> Self {
        Self {
            access_log,
            authenticator,
            metrics,
            refusals: LineBudget::new(),
            failures: LineBudget::new(),
        }
    }

    /// Takes note of a request.
    pub(crate) fn finished(&self, request: &Finished<'_>) {
        if let Some(metrics) = &self.metrics {
            request.count(metrics);
        }
        match request.outcome {
            Ok(status) if self.access_log == AccessLog::All => self.info(request, status, ""),
            // Refused by hyper, which has no code.
            Ok(status) if status.is_client_error() => {
                if self.access_log == AccessLog::Errors {
                    self.refused(request, status, "");
                }
            }
            Ok(_) => (),
            Err(error) => match &error.cause {
                Some(cause) => self.failed(request, error, cause),
                None if self.access_log == AccessLog::Off => (),
                None => self.refused(request, error.code.status(), error.code.as_str()),
            },
        }
    }

    fn refused(&self, request: &Finished<'_>, status: StatusCode, code: &str) {
        let Some(unwritten) = self.take_line(&self.refusals, request, None) else { return };
        if unwritten > 0 {
            tracing::warn!(unwritten, failed = false, "requests were not logged one by one");
        }
        self.info(request, status, code);
    }

    fn failed(&self, request: &Finished<'_>, error: &ApiError, cause: &str) {
        if let Some(unwritten) = self.take_line(&self.failures, request, Some(cause)) {
            self.error(request, error, cause, unwritten);
        }
    }

    /// Takes a line of `budget`: how many requests had none since the last one. `None` if this one has none.
    fn take_line(
        &self,
        budget: &LineBudget,
        request: &Finished<'_>,
        cause: Option<&str>,
    ) -> Option<u64> {
        if self.access_log == AccessLog::All { Some(0) } else { budget.take(request.began, cause) }
    }

    /// `unwritten` failures before this one had no line.
    fn error(&self, request: &Finished<'_>, error: &ApiError, cause: &str, unwritten: u64) {
        tracing::error!(
            request_id = request.request_id(),
            peer = %request.peer,
            key_name = self.key_name(request),
            trace_id = request.trace.map(|trace| trace.id()),
            method = request.method(),
            route = request.route(),
            status = error.code.status().as_u16(),
            code = error.code.as_str(),
            micros = request.micros(),
            cause,
            unwritten = (unwritten > 0).then_some(unwritten),
            "request failed"
        );
    }

    fn info(&self, request: &Finished<'_>, status: StatusCode, code: &str) {
        tracing::info!(
            request_id = request.request_id(),
            peer = %request.peer,
            key_name = self.key_name(request),
            trace_id = request.trace.map(|trace| trace.id()),
            method = request.method(),
            route = request.route(),
            status = status.as_u16(),
            code,
            micros = request.micros(),
            "request"
        );
    }

    fn key_name(&self, request: &Finished<'_>) -> Option<String> {
        let label = self.authenticator.key_label(request.caller?)?;
        Some(label.as_str().to_owned())
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("access_log", &self.access_log).finish_non_exhaustive()
    }
}

impl<'r> Finished<'r> {
    /// Describes a request of which no whole head arrived.
    pub(crate) fn unread(
        request_id: &'r HeaderValue,
        peer: Peer,
        outcome: Result<StatusCode, &'r ApiError>,
    ) -> Self {
        Self {
            request_id,
            peer,
            method: None,
            route: None,
            caller: None,
            trace: None,
            began: Instant::now(),
            outcome,
        }
    }

    fn count(&self, metrics: &Metrics) {
        let status = self.outcome.unwrap_or_else(|error| error.code.status());
        metrics.finished(self.route(), self.method(), status, self.began.elapsed());
        if let Err(error) = self.outcome {
            metrics.rejected(error.code.as_str(), error.by_store);
        }
    }

    fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    fn route(&self) -> &'static str {
        self.route.unwrap_or("none")
    }

    /// A method that HTTP does not define is the client's own text, so it is not repeated.
    fn method(&self) -> &'static str {
        match self.method.map(Method::as_str) {
            None => "none",
            Some("GET") => "GET",
            Some("HEAD") => "HEAD",
            Some("POST") => "POST",
            Some("OPTIONS") => "OPTIONS",
            Some("PUT") => "PUT",
            Some("DELETE") => "DELETE",
            Some("PATCH") => "PATCH",
            Some("TRACE") => "TRACE",
            Some("CONNECT") => "CONNECT",
            Some(_) => "other",
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests;
