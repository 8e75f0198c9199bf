//! The record of answered requests: counts them for the metrics, and writes at most one log line for each.
//!
//! A line names the template of the route, never the path, the query or a header except the request id. It names an API key
//! by its name and never contains the key.

use std::{fmt, net::IpAddr};

use hyper::{StatusCode, header::HeaderValue, http::request::Parts};
use tokio::time::Instant;
use tracing::field::{DisplayValue, display};

use crate::{
    observe::{handshakes::DISCONNECTED, ids::trace_id},
    request::{Peer, auth::Credential, forwarded},
    response::error::ApiError,
    settings::AccessLog,
    state::State,
};

/// The methods that HTTP defines (RFC 9110, section 9.3; RFC 5789).
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"];

/// The routes of health checks.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// An answered request, for the log and the metrics.
#[derive(Debug)]
pub(crate) struct RequestRecord<'r> {
    pub(crate) request_id: &'r HeaderValue,
    pub(crate) peer: Peer,
    /// `None` if the head did not arrive.
    pub(crate) head: Option<&'r Parts>,
    /// The template of the route; `None` if there is no route or the head did not arrive.
    pub(crate) route: Option<&'static str>,
    pub(crate) credential: &'r Credential,
    /// The `traceresponse`; `None` if the request belongs to no trace.
    pub(crate) trace: Option<&'r HeaderValue>,
    pub(crate) began: Instant,
    pub(crate) outcome: Result<StatusCode, &'r ApiError>,
}

/// Writes the line of a request: the fields of every line, `more` fields, and the message.
macro_rules! line {
    ($level:ident, $state:expr, $request:expr, $status:expr, $code:expr, $($more:tt)+) => {
        tracing::$level!(
            environment = $state.settings.environment,
            request_id = $request.request_id(),
            peer = %$request.peer,
            client = $request.client($state),
            key_name = $request.key_name($state),
            trace_id = $request.trace.map(trace_id),
            method = $request.method(),
            route = $request.route(),
            status = $status.as_u16(),
            code = $code,
            micros = $request.micros(),
            $($more)+
        )
    };
}

/// Counts an answered request, and writes its log line if the settings and the budget allow the line.
pub(crate) fn record(state: &State, request: &RequestRecord<'_>) {
    if let Some(metrics) = &state.metrics {
        let took = request.began.elapsed();
        metrics.count_request(request.route(), request.method(), request.status(), took);
        if let Err(error) = request.outcome {
            metrics.rejected(error.code.as_str(), error.by_store);
        }
    }
    let status = request.status();
    let error = request.outcome.err();
    let cause = error.and_then(|error| error.cause.as_deref());
    let is_probe = PROBES.contains(&request.route());
    let budget = match (state.settings.access_log, cause) {
        (AccessLog::AllButProbes, None) if is_probe && status == StatusCode::OK => return,
        (AccessLog::All | AccessLog::AllButProbes, _) => None,
        (AccessLog::Errors | AccessLog::Off, Some(_)) => Some(&state.failure_lines),
        (AccessLog::Errors, None) if status.as_u16() >= 400 => Some(&state.refusal_lines),
        (AccessLog::Errors | AccessLog::Off, None) => return,
    };
    let unwritten = budget.map_or(Some(0), |budget| budget.take(cause));
    let Some(unwritten) = unwritten else { return };
    let code = error.map_or("", |error| error.code.as_str());
    let unwritten = (unwritten > 0).then_some(unwritten);
    if let Some(cause) = cause {
        line!(error, state, request, status, code, unwritten, cause, "request failed");
    } else {
        line!(info, state, request, status, code, unwritten, "request");
    }
}

/// Counts a failed TLS handshake, and writes its log line if the settings and the budget allow the line. Each reason
/// has the same budget as a cause of failures. Clients that only connect, such as probes of load balancers, have no
/// line.
pub(crate) fn handshake_failed(
    state: &State,
    peer: Peer,
    reason: &'static str,
    error: &dyn fmt::Display,
) {
    if let Some(metrics) = &state.metrics {
        metrics.handshake_failed(reason);
    }
    let unwritten = match state.settings.access_log {
        AccessLog::AllButProbes | AccessLog::Errors if reason == DISCONNECTED => None,
        AccessLog::All | AccessLog::AllButProbes => Some(0),
        AccessLog::Errors => state.handshake_lines.take(Some(reason)),
        AccessLog::Off => None,
    };
    let Some(unwritten) = unwritten else { return };
    let unwritten = (unwritten > 0).then_some(unwritten);
    let environment = state.settings.environment.as_deref();
    tracing::info!(environment, %peer, reason, %error, unwritten, "a TLS handshake failed");
}

impl RequestRecord<'_> {
    /// Returns the client behind trusted proxies.
    fn client(&self, state: &State) -> Option<DisplayValue<IpAddr>> {
        let trusted = &state.settings.trusted_proxies;
        forwarded::client(trusted, self.peer, &self.head?.headers).map(display)
    }

    fn key_name(&self, state: &State) -> Option<String> {
        let Credential { caller, refused } = self.credential;
        let of_caller = || state.ports.authenticator.key_label(caller.as_ref()?);
        let label = refused.clone().or_else(of_caller);
        label.map(|label| label.as_str().to_owned())
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
        let Some(head) = self.head else { return "none" };
        METHODS.into_iter().find(|known| head.method == *known).unwrap_or("other")
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests;
