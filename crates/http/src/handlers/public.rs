//! The operations outside the base path, which need no credential.

use hyper::{
    StatusCode,
    header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY},
};

use super::RequestContext;
use crate::{
    request::address::BASE_PATH,
    response::{self, Response, error::ApiError},
    state::State,
};

/// Answers with the OpenAPI document of this deployment.
pub(crate) fn openapi(context: &RequestContext<'_>) -> Response {
    context.state.openapi.answer(&context.head.headers, None)
}

/// Answers that the process runs.
pub(crate) fn livez() -> Response {
    response::json(StatusCode::OK, r#"{"status":"live"}"#)
}

/// Answers that the service is ready. The metrics listener answers for the service.
///
/// # Errors
/// The service drains, or the store did not answer the latest read. That read began less than a second before this call, or
/// ended during it.
pub(crate) async fn readyz(state: &State) -> Result<Response, ApiError> {
    let state = state.monitor.as_ref().map_or(state, |monitor| &monitor.service);
    if state.drain.has_begun() {
        return Err(ApiError::shutting_down());
    }
    state.readiness.check(&state.ports.pets, state.settings.limits.request_timeout).await?;
    Ok(response::json(StatusCode::OK, r#"{"status":"ready"}"#))
}

/// Redirects to the first static file.
pub(crate) fn home(context: &RequestContext<'_>) -> Result<Response, ApiError> {
    let first =
        context.state.settings.static_files.first().ok_or_else(ApiError::route_not_found)?;
    redirect(context, StatusCode::TEMPORARY_REDIRECT, first.path)
}

/// Redirects from the path of a static file with a trailing slash to the file.
pub(crate) fn without_slash(context: &RequestContext<'_>) -> Result<Response, ApiError> {
    redirect(context, StatusCode::PERMANENT_REDIRECT, context.parameter)
}

/// Returns a redirection to `path`, relative to the parent of the public base path.
fn redirect(
    context: &RequestContext<'_>,
    status: StatusCode,
    path: &str,
) -> Result<Response, ApiError> {
    let base = &context.state.public_base;
    let root = base.strip_suffix(BASE_PATH).unwrap_or_default();
    let mut response = response::empty(status);
    response.headers_mut().insert(LOCATION, value(&format!("{root}{path}"))?);
    Ok(response)
}

/// Answers with a static file.
pub(crate) fn static_file(context: &RequestContext<'_>) -> Result<Response, ApiError> {
    let State { settings, static_files, .. } = context.state;
    let mut files = settings.static_files.iter().zip(static_files);
    let found = files.find(|(file, _)| file.path == context.parameter);
    let (file, representation) = found.ok_or_else(ApiError::route_not_found)?;
    let mut response = representation.answer(&context.head.headers, None);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, value(file.content_security_policy)?);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// Returns `text` as a header value.
fn value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}
