//! The order in which a request is judged: address, credential, route, method, retired operation,
//! media type, size, query or body, and only then the resource.

use bytes::Bytes;
use hyper::{Method, StatusCode, body::Body, header::ALLOW, http::request::Parts};
use petstore_domain::Caller;

use crate::{
    alarm::Alarm,
    auth, body, deprecation,
    error::{ApiError, ErrorCode},
    framing, media_type, open_pages, pets, query,
    response::{self, Response},
    route::{Operation, Route, is_under_base},
    state::State,
};

/// What a request is aimed at: its route, if the address has one, and the route's parameter.
pub(crate) type Target<'p> = Option<(&'static Route, &'p str)>;

/// The answer to a request, or why there is none.
pub(crate) async fn judge<B>(
    state: &State,
    alarm: &Alarm,
    head: &Parts,
    body: &mut B,
    target: Target<'_>,
) -> Result<Response, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    framing::require_unambiguous(head)?;
    if is_under_base(head.uri.path()) {
        let caller = auth::authenticate(&*state.ports.authenticator, &head.headers).await?;
        let (route, parameter) = target.ok_or_else(ApiError::route_not_found)?;
        if head.method == Method::OPTIONS {
            return Ok(options(route));
        }
        let operation = operation(route, &head.method)?;
        interface(state, alarm, head, body, operation, parameter, &caller).await
    } else {
        let (route, parameter) = target.ok_or_else(ApiError::route_not_found)?;
        let operation = operation(route, &head.method)?;
        body::require_fitting(body, state.settings.limits.max_body)?;
        open_pages::answer(state, head, operation, parameter).await
    }
}

fn operation(route: &'static Route, method: &Method) -> Result<Operation, ApiError> {
    route.operation(method).ok_or_else(|| ApiError::method_not_allowed(route.allow()))
}

fn options(route: &'static Route) -> Response {
    let mut response = response::empty(StatusCode::NO_CONTENT);
    response.headers_mut().insert(ALLOW, route.allow().clone());
    response
}

/// The operations under `/v1`, from the retired operation on.
async fn interface<B>(
    state: &State,
    alarm: &Alarm,
    head: &Parts,
    body: &mut B,
    operation: Operation,
    parameter: &str,
    caller: &Caller,
) -> Result<Response, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    if operation == Operation::GetPet {
        deprecation::require_not_ended(state.settings.get_pet_sunset, &*state.ports.clock)?;
    }
    if operation == Operation::CreatePet {
        media_type::require_json(&head.headers)?;
    }
    let limits = &state.settings.limits;
    body::require_fitting(body, limits.max_body)?;
    match operation {
        Operation::ListPets => pets::list(state, head).await,
        Operation::CreatePet => {
            let body = body::read(body, alarm, limits.max_body, limits.body_timeout).await?;
            query::require_none(head.uri.query())?;
            pets::create(state, head, &body, caller).await
        }
        Operation::GetPet => {
            query::require_none(head.uri.query())?;
            pets::get(state, head, parameter).await
        }
        Operation::ListOrders => Err(ApiError::new(
            ErrorCode::NotImplemented,
            "the orders listing is named by the interface but not described, so it is not offered",
        )),
        Operation::OpenApi
        | Operation::Livez
        | Operation::Readyz
        | Operation::Home
        | Operation::Page => Err(ApiError::route_not_found()),
    }
}
