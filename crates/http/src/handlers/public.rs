//! The handlers outside the base path, which need no credential.

use hyper::{StatusCode, header::LOCATION};

use super::Call;
use crate::{
    request::address::BASE_PATH,
    response::{self, Response, error::ApiError, page},
    state::State,
};

/// The OpenAPI document of this deployment.
pub(crate) fn openapi(call: &Call<'_>) -> Response {
    call.state.openapi.answer(&call.head.headers)
}

/// The process runs.
pub(crate) fn livez() -> Response {
    response::json(StatusCode::OK, r#"{"status":"live"}"#)
}

/// Ready means: not draining, and the store answers a real read, which is at most a second old.
pub(crate) async fn readyz(state: &State) -> Result<Response, ApiError> {
    if state.drain.has_begun() {
        return Err(ApiError::unavailable("the service is shutting down"));
    }
    state.readiness.check(&state.ports.pets, state.settings.limits.request_timeout).await?;
    Ok(response::json(StatusCode::OK, r#"{"status":"ready"}"#))
}

/// Leads to the first page.
pub(crate) fn home(call: &Call<'_>) -> Result<Response, ApiError> {
    let first = call.state.settings.pages.first().ok_or_else(ApiError::route_not_found)?;
    redirect(call, StatusCode::TEMPORARY_REDIRECT, first.path)
}

/// Leads from a page's address with a slash behind it to the page.
pub(crate) fn without_slash(call: &Call<'_>) -> Result<Response, ApiError> {
    redirect(call, StatusCode::PERMANENT_REDIRECT, call.parameter)
}

/// Leads to `path` beside the base path, where clients see that.
fn redirect(call: &Call<'_>, status: StatusCode, path: &str) -> Result<Response, ApiError> {
    let base = &call.state.public_base;
    let root = base.strip_suffix(BASE_PATH).unwrap_or_default();
    let mut response = response::empty(status);
    response.headers_mut().insert(LOCATION, page::value(&format!("{root}{path}"))?);
    Ok(response)
}

/// A file for browsers.
pub(crate) fn page(call: &Call<'_>) -> Result<Response, ApiError> {
    let found = call.state.settings.pages.iter().find(|page| page.path == call.parameter);
    let page = found.ok_or_else(ApiError::route_not_found)?;
    page.answer(&call.head.headers)
}
