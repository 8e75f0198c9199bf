//! The observer of finished requests. What it does with them is write the log: one line for a
//! request, at most, with its cause if the service itself failed.
//!
//! A line names the route's template, never the path, the query or a header but the request id: an
//! API key cannot get into it.

mod budget;

use std::time::Instant;

use hyper::{Method, StatusCode, header::HeaderValue};

use self::budget::LineBudget;
use crate::{error::ApiError, settings::AccessLog};

/// A request whose answer is known.
#[derive(Debug)]
pub(crate) struct Finished<'r> {
    pub(crate) request_id: &'r HeaderValue,
    /// `None` if it did not arrive.
    pub(crate) method: Option<&'r Method>,
    /// The template of its route; `None` if it has none, or the target did not arrive.
    pub(crate) route: Option<&'static str>,
    pub(crate) began: Instant,
    pub(crate) outcome: Result<StatusCode, &'r ApiError>,
}

/// Sees each finished request exactly once.
#[derive(Debug)]
pub(crate) struct Observer {
    access_log: AccessLog,
    refusals: LineBudget,
    failures: LineBudget,
}

impl Observer {
    /// An observer that writes the lines that `access_log` asks for.
    pub(crate) fn new(access_log: AccessLog) -> Self {
        Self { access_log, refusals: LineBudget::default(), failures: LineBudget::default() }
    }

    /// Takes note of a request.
    pub(crate) fn finished(&self, request: &Finished<'_>) {
        match request.outcome {
            Ok(status) if self.access_log == AccessLog::All => request.info(status, ""),
            Ok(_) => (),
            Err(error) => self.refused(request, error),
        }
    }

    fn refused(&self, request: &Finished<'_>, error: &ApiError) {
        let failed = error.cause.is_some();
        if self.access_log == AccessLog::Off && !failed {
            return;
        }
        if self.access_log != AccessLog::All {
            let budget = if failed { &self.failures } else { &self.refusals };
            let Some(unwritten) = budget.take(request.began) else { return };
            if unwritten > 0 {
                tracing::warn!(unwritten, failed, "requests were not logged one by one");
            }
        }
        if failed {
            request.error(error);
        } else {
            request.info(error.code.status(), error.code.as_str());
        }
    }
}

impl Finished<'_> {
    fn error(&self, error: &ApiError) {
        tracing::error!(
            request_id = self.request_id(),
            method = self.method(),
            route = self.route.unwrap_or("none"),
            status = error.code.status().as_u16(),
            code = error.code.as_str(),
            micros = self.micros(),
            cause = error.cause.as_deref().unwrap_or_default(),
            "request failed"
        );
    }

    fn info(&self, status: StatusCode, code: &str) {
        tracing::info!(
            request_id = self.request_id(),
            method = self.method(),
            route = self.route.unwrap_or("none"),
            status = status.as_u16(),
            code,
            micros = self.micros(),
            "request"
        );
    }

    fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    /// A method that HTTP does not define is the client's own text, so it is not repeated.
    fn method(&self) -> &str {
        let Some(method) = self.method else { return "none" };
        let known = [
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::OPTIONS,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::TRACE,
            Method::CONNECT,
        ];
        if known.contains(method) { method.as_str() } else { "other" }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
