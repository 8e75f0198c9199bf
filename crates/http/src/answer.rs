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
    HeaderMap, Method, Request, StatusCode, Version,
    body::Body,
    header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue, X_CONTENT_TYPE_OPTIONS},
    http::request::Parts,
};
use petstore_domain::Timestamp;

use crate::{
    access_log::Line,
    body,
    deadline::within,
    deprecation,
    error::{ApiError, ErrorCode},
    judge::{Target, judge},
    request_id::X_REQUEST_ID,
    response::Response,
    route::{Operation, Route, is_under_base},
    state::State,
    wire,
};

/// The `Cache-Control` of everything that needs a credential.
const PRIVATE: &str = "private, no-cache";
const PRIVATE_VALUE: HeaderValue = HeaderValue::from_static(PRIVATE);
/// The `Cache-Control` of the open pages.
const PUBLIC_VALUE: HeaderValue = HeaderValue::from_static("no-cache");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Answers one request, within the time for a request as a whole.
pub(crate) async fn answer<B>(state: &State, request: Request<B>) -> Response
where
    B: Body<Data = Bytes> + Unpin,
{
    let began = Instant::now();
    let (head, mut body) = request.into_parts();
    let request_id = state.request_ids.of(&head.headers);
    let target = Route::find(head.uri.path(), &state.settings.pages);

    let limits = &state.settings.limits;
    let judged = {
        let judging = pin!(judge(state, &head, &mut body, target));
        within(limits.request_timeout, judging).await
    };
    let judged = judged.unwrap_or_else(|| Err(too_slow(state)));
    let understood = !judged.as_ref().is_err_and(|error| error.code == ErrorCode::InvalidRequest);
    let reusable = body::discard(&mut body, &head.headers, limits.max_body).await && understood;

    let line = Line { request_id: &request_id, method: Some(&head.method), target, began };
    let mut response = match judged {
        Ok(response) => {
            line.write_success(state, response.status());
            response
        }
        Err(error) => {
            line.write_refusal(state, &error);
            error.into_response()
        }
    };
    dress(&mut response, &head, target);
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

/// Adds the headers that do not depend on what was answered, and takes the body from a HEAD.
fn dress(response: &mut Response, head: &Parts, target: Target<'_>) {
    let is_private = is_under_base(head.uri.path());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, if is_private { PRIVATE_VALUE } else { PUBLIC_VALUE });
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
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
