//! The answer to a request. [`answer`] cannot fail: whatever the pipeline refuses becomes a response
//! here, and the observer sees it here, once.

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, StatusCode, Version,
    body::Body,
    header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, DATE, HeaderValue},
    http::request::Parts,
};
use petstore_domain::Caller;
use tokio::time::timeout;

use crate::{
    address::{is_under_base, normalize},
    body::RequestBody,
    compression,
    error::{ApiError, ErrorCode},
    log::Finished,
    peer::Peer,
    pipeline,
    request_id::X_REQUEST_ID,
    response::{Response, http_date},
    route::{self, Target},
    state::State,
    trace::{TRACERESPONSE, TraceContext},
};

/// The `Cache-Control` of what needs no credential.
const PUBLIC: HeaderValue = HeaderValue::from_static("no-cache");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Answers one request that comes from `peer`, within the time for a request as a whole.
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
    let target = route::find(head.uri.path(), &state.settings.pages);
    let limits = &state.settings.limits;
    let mut caller = None;
    let outcome = {
        // Pinned where it is: a future that is moved is copied.
        let run = pin!(pipeline::run(state, peer, head, body, target, &mut caller));
        // What a panic leaves half done belongs to this request alone, or is made whole by its locks.
        timeout(limits.request_timeout, AssertUnwindSafe(run).catch_unwind()).await
    };
    let outcome = match outcome {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(ApiError::panicked(&*panic)),
        Err(_) => Err(too_slow(limits.request_timeout)),
    };
    let misread = matches!(&outcome, Err(error) if error.code == ErrorCode::InvalidRequest);

    let trace = state.traces.span(&head.headers);
    let (headers, method) = (&head.headers, Some(&head.method));
    let caller = caller.as_ref();
    let request = Request { peer, headers, method, target, caller, trace, began };
    let mut response = finish(state, &request, outcome);
    compression::apply(&state.page_cache, &head.headers, &mut response).await;
    add_common_headers(state, &mut response, head, target);
    if let Some(cors) = &state.cors {
        cors.add_headers(&head.headers, response.headers_mut());
    }
    // An HTTP/2 stream ends alone; over HTTP/1 the next request begins where this one ends.
    if head.version < Version::HTTP_2 {
        let reusable = body.skip_arrived(&head.headers, limits.max_body).await && !misread;
        if !reusable || state.is_draining() {
            response.headers_mut().insert(CONNECTION, CLOSE);
        }
    }
    response
}

/// The answer to a head that began and did not arrive in time.
pub(crate) fn late_head(state: &State, peer: Peer) -> Response {
    let time = state.settings.limits.header_timeout;
    let message = format!("the head did not arrive whole within {time:?}");
    let error = ApiError::new(ErrorCode::RequestTimeout, message);
    let request = Request {
        peer,
        headers: &HeaderMap::new(),
        method: None,
        target: None,
        caller: None,
        trace: None,
        began: Instant::now(),
    };
    let mut response = finish(state, &request, Err(error));
    set_length(&mut response);
    let headers = response.headers_mut();
    headers.extend(http_date(state.ports.clock.now()).map(|date| (DATE, date)));
    headers.insert(CONNECTION, CLOSE);
    response
}

/// Shows the observer a head that hyper could not read and has answered by itself: 431 if it was too
/// large, else 400.
pub(crate) fn note_unreadable_head(state: &State, peer: Peer, too_large: bool) {
    let status = if too_large {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    } else {
        StatusCode::BAD_REQUEST
    };
    state.observer.finished(&Finished {
        request_id: &state.request_ids.choose(&HeaderMap::new()),
        peer,
        method: None,
        route: None,
        caller: None,
        trace: None,
        began: Instant::now(),
        outcome: Ok(status),
    });
}

/// What is known of a request, whole or not.
struct Request<'r> {
    peer: Peer,
    headers: &'r HeaderMap,
    method: Option<&'r Method>,
    target: Target<'r>,
    /// `None` if it has no valid key, or needs none.
    caller: Option<&'r Caller>,
    trace: Option<TraceContext>,
    began: Instant,
}

/// Names the request, shows its outcome to the observer, and makes
/// a response of it.
fn finish(state: &State, request: &Request<'_>, outcome: Result<Response, ApiError>) -> Response {
    let request_id = state.request_ids.choose(request.headers);
    state.observer.finished(&Finished {
        request_id: &request_id,
        peer: request.peer,
        method: request.method,
        route: request.target.map(|(route, _)| route.template),
        caller: request.caller,
        trace: request.trace,
        began: request.began,
        outcome: outcome.as_ref().map(Response::status),
    });
    let mut response = outcome.unwrap_or_else(ApiError::into_response);
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, request_id);
    if let Some(response) = request.trace.and_then(|trace| trace.response()) {
        headers.insert(TRACERESPONSE, response);
    }
    response
}

fn too_slow(limit: Duration) -> ApiError {
    ApiError::unavailable(format_args!("the request took longer than {limit:?}"))
}

/// Adds the headers that depend on the request alone, and takes the body from a HEAD.
fn add_common_headers(state: &State, response: &mut Response, head: &Parts, target: Target<'_>) {
    let headers = response.headers_mut();
    if !is_under_base(head.uri.path()) {
        headers.insert(CACHE_CONTROL, PUBLIC);
    }
    let operation = target.and_then(|(route, _)| route.operation(&head.method));
    if let Some(deprecation) = operation.and_then(|operation| operation.deprecation) {
        deprecation.announce(headers, state.settings.get_pet_sunset, &state.public_base);
    }
    let empty = response.body().is_end_stream();
    if head.method == Method::HEAD || head.version == Version::HTTP_2 || empty {
        set_length(response);
    }
    if head.method == Method::HEAD {
        *response.body_mut() = Full::default();
    }
}

/// Says how long the body is, where an answer may have one and hyper does not say it by itself.
fn set_length(response: &mut Response) {
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&response.status());
    if let (false, Some(length)) = (bodiless, response.body().size_hint().exact()) {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

#[cfg(test)]
mod tests;
