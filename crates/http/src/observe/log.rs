//! The record of answered requests and of failed TLS handshakes: counts them for the metrics, and writes at most one
//! log line for each.
//!
//! A line names the template of the route, never the path or the query. From the headers, it has the request id, the
//! trace id and, behind a trusted proxy, the address of the client. It has the name of an API key and never the key.

use std::fmt;

use hyper::{HeaderMap, StatusCode, header::HeaderValue, http::request::Parts};
use petstore_domain::KeyLabel;
use tokio::time::Instant;
use tracing::field::display;

use crate::{
    observe::{ids::trace_id, metrics::DISCONNECTED},
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

/// Counts an answered request, and writes its log line if the settings and the budget allow the line. Returns the
/// request id, and the `traceresponse` if the request belongs to a trace.
///
/// `head` is `None` if the head is incomplete or invalid. `route` is the template of the route, if there is a route.
pub(crate) fn record(
    state: &State,
    peer: Peer,
    head: Option<&Parts>,
    route: Option<&'static str>,
    credential: &Credential,
    began: Instant,
    outcome: Result<StatusCode, &ApiError>,
) -> (HeaderValue, Option<HeaderValue>) {
    let nothing = HeaderMap::new();
    let headers = head.map_or(&nothing, |head| &head.headers);
    let ids = (state.request_ids.choose(headers), state.request_ids.trace(headers));
    let (request_id, trace) = &ids;
    let (error, route) = (outcome.err(), route.unwrap_or("none"));
    let status = outcome.unwrap_or_else(|error| error.code.status());
    let code = error.map_or("", |error| error.code.as_str());
    if let Some(metrics) = &state.metrics {
        metrics.count_request(route, method(head), outcome, began.elapsed());
    }
    let State { settings, ports, failure_lines, refusal_lines, .. } = state;
    let cause = error.and_then(|error| error.cause.as_deref());
    let is_probe = PROBES.contains(&route);
    let budget = match (settings.access_log, cause) {
        (AccessLog::AllButProbes, None) if is_probe && status == StatusCode::OK => return ids,
        (AccessLog::All | AccessLog::AllButProbes, _) => None,
        (AccessLog::Errors | AccessLog::Off, Some(_)) => Some(failure_lines),
        (AccessLog::Errors, None) if status.as_u16() >= 400 => Some(refusal_lines),
        (AccessLog::Errors | AccessLog::Off, None) => return ids,
    };
    let unwritten = budget.map_or(Some(0), |budget| budget.take(cause));
    let Some(unwritten) = unwritten else { return ids };
    let client = forwarded::client(&settings.trusted_proxies, peer, headers).map(display);
    let Credential { caller, refused } = credential;
    let of_caller = || ports.authenticator.key_label(caller.as_ref()?);
    let label = refused.clone().or_else(of_caller);
    macro_rules! line {
        ($level:ident, $($more:tt)+) => {
            tracing::$level!(
                environment = settings.environment,
                request_id = request_id.to_str().unwrap_or_default(),
                %peer,
                client,
                key_name = label.as_ref().map(KeyLabel::as_str),
                trace_id = trace.as_ref().map(trace_id),
                method = method(head),
                route,
                status = status.as_u16(),
                code,
                micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
                unwritten = (unwritten > 0).then_some(unwritten),
                $($more)+
            )
        };
    }
    if let Some(cause) = cause {
        line!(error, cause, "request failed");
    } else {
        line!(info, "request");
    }
    ids
}

/// Returns the method, `none` without a head, or `other` for a method that HTTP does not define. So clients cannot add
/// values to the label `method` of the metrics.
fn method(head: Option<&Parts>) -> &'static str {
    let known = |head: &Parts| METHODS.into_iter().find(|known| head.method == *known);
    head.map_or("none", |head| known(head).unwrap_or("other"))
}

/// Counts a failed TLS handshake, and writes its log line if the settings and the budget allow the line. With
/// [`AccessLog::Errors`], the lines about one reason are limited like the lines about one cause of failures. A client
/// that only connects, such as a probe of a load balancer, has a line only with [`AccessLog::All`].
pub(crate) fn handshake_failed(
    state: &State,
    peer: Peer,
    reason: &'static str,
    error: &dyn fmt::Display,
) {
    if let Some(metrics) = &state.metrics {
        metrics.series.handshake_failures.with_label_values(&[reason]).inc();
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

#[cfg(test)]
pub(crate) mod tests;
