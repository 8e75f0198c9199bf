//! The answer to a request. [`answer`] cannot fail: it turns every error of the pipeline into a response, records the
//! request once, and adds the headers that do not depend on the handler.

use std::{panic::AssertUnwindSafe, pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::Full;
use hyper::{
    Method, Request, StatusCode, Version,
    body::Body,
    header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue},
    http::request::Parts,
};
use tokio::time::{Instant, timeout_at};

use crate::{
    observe::{
        ids::{TRACERESPONSE, X_REQUEST_ID},
        log::record,
    },
    pipeline,
    request::{
        Peer,
        address::{is_under_base, normalize},
        auth::Credential,
        body::RequestBody,
    },
    response::{
        Response, cors,
        error::{ApiError, ErrorCode},
        http_date,
    },
    route::{self, METRICS_ROUTES, ROUTES, Target},
    settings::Limits,
    state::State,
};

/// The `Cache-Control` of responses at addresses outside `/v1`, which need no credential.
const PUBLIC: HeaderValue = HeaderValue::from_static("no-cache");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Answers one request that did not arrive over a connection, as if it came over a Unix socket.
pub(crate) async fn ask(state: &State, request: Request<impl Into<Bytes>>) -> Response {
    let (mut head, body) = request.into_parts();
    let mut body = Full::new(body.into());
    let mut body = RequestBody::new(&mut body, &state.body_memory);
    answer(state, Peer::Unix, &mut head, &mut body).await
}

/// Answers one request from `peer` within the request timeout.
pub(crate) async fn answer<B>(
    state: &State,
    peer: Peer,
    head: &mut Parts,
    body: &mut RequestBody<'_, B>,
) -> Response
where
    B: Body<Data = Bytes> + Unpin,
{
    let began = Instant::now();
    let _in_flight = state.metrics.as_ref().map(|metrics| metrics.begin_request());
    normalize(&mut head.uri);
    let head = &*head;
    let routes = if state.monitor.is_some() { &METRICS_ROUTES[..] } else { &ROUTES };
    let target = route::find(routes, head.uri.path(), &state.settings.static_files);
    let Limits { request_timeout, max_body, .. } = state.settings.limits;
    let mut credential = Credential::default();
    let outcome = {
        // Pinned on the stack, because moving the future would copy it.
        let run = pin!(pipeline::run(state, head, body, target, &mut credential));
        // Unwind safe, because a request changes only its own values and state behind locks that ignore poisoning.
        timeout_at(began + request_timeout, AssertUnwindSafe(run).catch_unwind()).await
    };
    let outcome = match outcome {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(ApiError::panicked(&*panic)),
        Err(_) => {
            let cause = format_args!("the request took longer than {request_timeout:?}");
            Err(ApiError::unavailable(cause))
        }
    };
    let misread = matches!(&outcome, Err(error) if error.code == ErrorCode::InvalidRequest);

    let route = target.map(|(route, _)| route.template);
    let status = outcome.as_ref().map(Response::status);
    let (request_id, trace) = record(state, peer, Some(head), route, &credential, began, status);
    // Over HTTP/1, the next request begins after the body of this request. Streams of HTTP/2 are independent.
    let is_reusable = head.version >= Version::HTTP_2
        || !misread && body.skip_arrived(&head.headers, max_body).await && !state.drain.has_begun();
    let mut response = outcome.unwrap_or_else(ApiError::into_response);
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, request_id);
    if let Some(trace) = trace {
        headers.insert(TRACERESPONSE, trace);
    }
    if !is_reusable {
        headers.insert(CONNECTION, CLOSE);
    }
    decorate(&mut response, state, head, target);
    response
}

/// Adds the headers that depend on the request but not on its handler, and removes the body from the response to HEAD.
fn decorate(response: &mut Response, state: &State, head: &Parts, target: Target<'_>) {
    let operation = || target.and_then(|(route, _)| route.operation(&head.method));
    let (status, length) = (response.status(), response.body().len());
    let headers = response.headers_mut();
    if !is_under_base(head.uri.path()) {
        headers.insert(CACHE_CONTROL, PUBLIC);
    }
    // A 200 of a deprecated operation has these headers already, from `State::pet_template`.
    if status != StatusCode::OK && operation().is_some_and(|operation| operation.is_deprecated) {
        headers.extend(state.deprecation.clone());
    }
    cors::add_headers(&state.settings.cors_origins, &head.headers, headers);
    let is_head = head.method == Method::HEAD;
    // hyper sets `Content-Length` only over HTTP/1, and never in a response to HEAD.
    let lacks_length = is_head || head.version == Version::HTTP_2 || length == 0;
    let may_have_length = ![StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    if lacks_length && may_have_length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if is_head {
        *response.body_mut() = Bytes::new();
    }
}

/// Records a request whose head did not arrive whole within `limit`, and returns the text of its response. hyper does
/// not send such a response.
pub(crate) fn late_head(state: &State, peer: Peer, limit: Duration) -> String {
    let message = format!("the head did not arrive whole within {limit:?}");
    let error = ApiError::new(ErrorCode::RequestTimeout, message);
    let now = Instant::now();
    let began = now.checked_sub(limit).unwrap_or(now);
    let credential = Credential::default();
    let (request_id, _) = record(state, peer, None, None, &credential, began, Err(&error));
    let (body, date) = (error.body(), http_date(state.ports.clock.now()));
    format!(
        "HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: private, no-cache\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\ndate: {}\r\nx-request-id: {}\r\n\r\n{body}",
        body.len(),
        date.to_str().unwrap_or_default(),
        request_id.to_str().unwrap_or_default(),
    )
}

#[cfg(test)]
pub(crate) mod tests;
