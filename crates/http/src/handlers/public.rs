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
/// The service drains, or the store did not answer the latest [readiness](super::readiness) read.
pub(crate) async fn readyz(state: &State) -> Result<Response, ApiError> {
    let state = state.monitor.as_ref().map_or(state, |monitor| &monitor.service);
    if state.drain.has_begun() {
        return Err(ApiError::shutting_down());
    }
    state.readiness.check(&state.ports.pets, state.settings.limits.request_timeout).await?;
    Ok(response::json(StatusCode::OK, r#"{"status":"ready"}"#))
}

/// Answers with a static file. Redirects from `/` to the first file, and from a path with a trailing slash to its file.
pub(crate) fn page(context: &RequestContext<'_>) -> Result<Response, ApiError> {
    let State { settings, static_files, public_base, .. } = context.state;
    let mut files = settings.static_files.iter().zip(static_files);
    let (status, path) = match context.parameter.strip_suffix('/') {
        Some("") => {
            let (first, _) = files.next().ok_or_else(ApiError::route_not_found)?;
            (StatusCode::TEMPORARY_REDIRECT, first.path)
        }
        Some(file) => (StatusCode::PERMANENT_REDIRECT, file),
        None => {
            let found = files.find(|(file, _)| file.path == context.parameter);
            let (file, representation) = found.ok_or_else(ApiError::route_not_found)?;
            let mut response = representation.answer(&context.head.headers, None);
            let headers = response.headers_mut();
            let policy = HeaderValue::from_static(file.content_security_policy);
            headers.insert(CONTENT_SECURITY_POLICY, policy);
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            return Ok(response);
        }
    };
    // A proxy may strip a prefix, so the address begins with the parent of the public base path.
    let root = public_base.strip_suffix(BASE_PATH).unwrap_or_default();
    let mut response = response::empty(status);
    let location = format!("{root}{path}").try_into().map_err(ApiError::internal)?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
