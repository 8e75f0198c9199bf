//! The answer to a request. [`answer`] cannot fail: whatever [`judge`] refuses becomes a response
//! here, and is logged here, once.

use std::{
    pin::pin,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use http_body_util::Full;
use httpdate::fmt_http_date;
use hyper::{
    HeaderMap, Method, StatusCode, Version,
    body::Body,
    header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue},
    http::request::Parts,
};
use petstore_domain::Timestamp;

use crate::{
    access_log::Line,
    alarm::Alarm,
    body, deprecation,
    error::{ApiError, ErrorCode},
    judge::{Target, judge},
    request_id::X_REQUEST_ID,
    response::{PRIVATE, Response},
    route::{Operation, Route, is_under_base},
    state::State,
    wire,
};

/// The `Cache-Control` of what needs no credential.
const PUBLIC: HeaderValue = HeaderValue::from_static("no-cache");

/// Answers one request, within the time for a request as a whole, of which `alarm` tells. The request
/// is borrowed, because it is large, and to move it is to copy it.
pub(crate) async fn answer<B>(state: &State, alarm: &Alarm, head: &Parts, body: &mut B) -> Response
where
    B: Body<Data = Bytes> + Unpin,
{
    let began = Instant::now();
    let request_id = state.request_ids.of(&head.headers);
    let target = Route::find(head.uri.path(), &state.settings.pages);

    let line = Line { request_id: &request_id, method: Some(&head.method), target, began };
    let limits = &state.settings.limits;
    let judged = {
        let judging = pin!(judge(state, alarm, head, body, target));
        alarm.within(limits.request_timeout, judging).await
    };
    let mut understood = true;
    let mut response = match judged {
        Some(Ok(response)) => {
            line.write_success(state, response.status());
            response
        }
        refused => {
            let error = refused.and_then(Result::err).unwrap_or_else(|| too_slow(state));
            line.write_refusal(state, &error);
            understood = error.code != ErrorCode::InvalidRequest;
            error.into_response()
        }
    };
    let reusable = body::discard(body, alarm, &head.headers, limits.max_body).await && understood;

    dress(&mut response, head, target);
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, request_id);
    if head.version <= Version::HTTP_11 && (!reusable || state.is_draining()) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The answer, as bytes of HTTP/1.1, to a head that began and did not arrive in time.
pub(crate) fn late_head(state: &State) -> Vec<u8> {
    let request_id = state.request_ids.of(&HeaderMap::new());
    let time = state.settings.limits.header_timeout;
    let error = ApiError::new(
        ErrorCode::RequestTimeout,
        format!("the head did not arrive whole within {time:?}"),
    );
    let began = Instant::now();
    Line { request_id: &request_id, method: None, target: None, began }
        .write_refusal(state, &error);
    let body = wire::error(error.code, &error.message);
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: {PRIVATE}\r\nx-content-type-options: nosniff\r\nx-request-id: {}\r\n\
         date: {}\r\nconnection: close\r\n\r\n",
        error.code.status(),
        body.len(),
        request_id.to_str().unwrap_or_default(),
        http_date(state.ports.clock.now()),
    );
    [head.as_bytes(), &body].concat()
}

/// The form of time in HTTP, which knows the years 1970 to 9999.
fn http_date(now: Timestamp) -> String {
    const LAST: u64 = 253_402_300_799_999;
    let millis = u64::try_from(now.0).unwrap_or(0).min(LAST);
    fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}

fn too_slow(state: &State) -> ApiError {
    let limit = state.settings.limits.request_timeout;
    ApiError::unavailable(format_args!("the request took longer than {limit:?}"))
}

/// Adds the headers that depend on the request alone, and takes the body from a HEAD.
fn dress(response: &mut Response, head: &Parts, target: Target<'_>) {
    let headers = response.headers_mut();
    if !is_under_base(head.uri.path()) {
        headers.insert(CACHE_CONTROL, PUBLIC);
    }
    let operation = target.and_then(|(route, _)| route.operation(&head.method));
    if operation == Some(Operation::GetPet) {
        deprecation::announce(headers);
    }
    if head.method == Method::HEAD || head.version == Version::HTTP_2 || is_empty(response) {
        set_length(response);
    }
    if head.method == Method::HEAD {
        *response.body_mut() = Full::default();
    }
}

fn is_empty(response: &Response) -> bool {
    response.body().is_end_stream()
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
