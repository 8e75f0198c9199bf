//! The pages that need no credential.

use hyper::{StatusCode, header::LOCATION, http::request::Parts};
use petstore_domain::{PageLimit, PetQuery};

use crate::{
    error::ApiError,
    page,
    response::{self, Response},
    route::Operation,
    state::State,
};

/// The answer of an open page, the route's parameter being `parameter`.
pub(crate) async fn answer(
    state: &State,
    head: &Parts,
    operation: Operation,
    parameter: &str,
) -> Result<Response, ApiError> {
    match operation {
        Operation::OpenApi => Ok(state.openapi.answer(&head.headers)),
        Operation::Livez => Ok(response::json(StatusCode::OK, r#"{"status":"live"}"#)),
        Operation::Readyz => readyz(state).await,
        Operation::Home => home(state),
        Operation::Page => page::answer(&state.settings.pages, parameter, &head.headers),
        Operation::ListPets | Operation::CreatePet | Operation::GetPet | Operation::ListOrders => {
            Err(ApiError::route_not_found())
        }
    }
}

fn home(state: &State) -> Result<Response, ApiError> {
    let first = state.settings.pages.first().ok_or_else(ApiError::route_not_found)?;
    let mut response = response::empty(StatusCode::TEMPORARY_REDIRECT);
    response.headers_mut().insert(LOCATION, page::value(first.path)?);
    Ok(response)
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
