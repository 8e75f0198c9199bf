//! The pages that need no credential.

use hyper::{
    StatusCode,
    header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION},
    http::request::Parts,
};
use petstore_domain::{PageLimit, PetQuery};

use crate::{
    error::ApiError,
    response::{self, Response},
    route::Operation,
    state::State,
};

const TEXT_HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// The page has a style sheet inside and nothing else to load.
const DOCS_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");

/// The answer of an open page.
pub(crate) async fn answer(
    state: &State,
    head: &Parts,
    operation: Operation,
) -> Result<Response, ApiError> {
    match operation {
        Operation::Home => Ok(home()),
        Operation::Docs => Ok(docs()),
        Operation::OpenApi => Ok(state.openapi.answer(&head.headers)),
        Operation::Livez => Ok(response::json(StatusCode::OK, r#"{"status":"live"}"#)),
        Operation::Readyz => readyz(state).await,
        Operation::ListPets | Operation::CreatePet | Operation::GetPet | Operation::ListOrders => {
            Err(ApiError::route_not_found())
        }
    }
}

fn home() -> Response {
    let mut response = response::empty(StatusCode::TEMPORARY_REDIRECT);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/docs"));
    response
}

fn docs() -> Response {
    let page = include_str!("docs.html");
    let mut response = response::with_body(StatusCode::OK, TEXT_HTML, page);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, DOCS_POLICY);
    response
}

/// Ready means: not draining, and the store answers a real read.
async fn readyz(state: &State) -> Result<Response, ApiError> {
    if state.is_draining() {
        return Err(ApiError::unavailable("the service is shutting down"));
    }
    let one = PetQuery { limit: PageLimit::MIN, ..PetQuery::default() };
    state.ports.pets.list(one).await?;
    Ok(response::json(StatusCode::OK, r#"{"status":"ready"}"#))
}
