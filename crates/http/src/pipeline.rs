//! The checklist of every request, in the documented order: framing, preflight, credential, rate, route, method,
//! retired operation, rights, media type, size, body, query, and last the handler. The row of the route table says
//! which checks an operation needs.

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, StatusCode,
    body::Body,
    header::{ALLOW, AUTHORIZATION},
    http::request::Parts,
};
use petstore_domain::{AuthenticationError, Caller, KeyRights};

use crate::{
    handlers::RequestContext,
    request::{
        address::is_under_base,
        auth::{Credential, bearer_token, check_late},
        body::RequestBody,
        framing, headers, query,
    },
    response::{self, Response, cors, deprecation, error::ApiError},
    route::Target,
    state::State,
};

/// Runs the checks and the handler of a request, and fills `credential`.
///
/// # Errors
/// The first check that the request fails, or the error of its handler.
pub(crate) async fn run<B>(
    state: &State,
    head: &Parts,
    body: &mut RequestBody<'_, B>,
    target: Target<'_>,
    credential: &mut Credential,
) -> Result<Response, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    framing::require_unambiguous(head, !body.has_ended())?;
    if cors::is_preflight(&state.settings.cors_origins, head) {
        return Ok(cors::permission(target.map(|(route, _)| route.allow())));
    }
    let under_base = is_under_base(head.uri.path());
    let caller =
        if under_base { Some(authenticate(state, &head.headers, credential).await?) } else { None };
    if let (Some(caller), Some(rate)) = (caller, &state.key_rate)
        && !rate.try_acquire(caller.digest)
    {
        return Err(ApiError::rate_limited());
    }

    let (route, parameter) = target.ok_or_else(ApiError::route_not_found)?;
    if under_base && head.method == Method::OPTIONS {
        let mut response = response::empty(StatusCode::NO_CONTENT);
        response.headers_mut().insert(ALLOW, route.allow());
        return Ok(response);
    }
    let Some(operation) = route.operation(&head.method) else {
        return Err(ApiError::method_not_allowed(route.allow()));
    };
    if operation.is_deprecated {
        if let (Some(metrics), Some(caller)) = (&state.metrics, caller) {
            metrics.count_deprecated(caller, &*state.ports.authenticator);
        }
        deprecation::require_not_ended(state.settings.get_pet_sunset, &*state.ports.clock)?;
    }
    let may_only_read = |caller: &Caller| caller.rights == KeyRights::ReadOnly;
    let writes = operation.writes();
    // A deletion has no body (RFC 9110, section 9.3.5).
    let is_json = writes && *operation.method != hyper::Method::DELETE;
    if writes && caller.is_some_and(may_only_read) {
        return Err(ApiError::forbidden());
    }

    if is_json {
        headers::require_json(&head.headers)?;
    }
    let limits = &state.settings.limits;
    body.require_fitting(limits.max_body)?;
    let content =
        if is_json { body.read(limits.max_body, limits.body_timeout).await? } else { Bytes::new() };
    if !operation.takes_query {
        query::require_none(head.uri.query())?;
    }
    let success = operation.success;
    (operation.handler)(RequestContext { state, head, parameter, success, caller, body: content })
        .await
}

/// Returns the caller of the key in the `Authorization` header, and fills `credential`. Keys in other places are
/// ignored.
///
/// # Errors
/// 401 after a delay, 429, or the error of the key store.
async fn authenticate<'p>(
    state: &State,
    headers: &HeaderMap,
    credential: &'p mut Credential,
) -> Result<&'p Caller, ApiError> {
    let authenticator = &*state.ports.authenticator;
    let key = bearer_token(headers);
    if let Some(key) = &key {
        match authenticator.authenticate(key).await {
            Err(AuthenticationError::Refused(label)) => credential.refused = label,
            known => return Ok(credential.caller.insert(known?)),
        }
    }
    let refusal = ApiError::unauthorized(headers.contains_key(AUTHORIZATION));
    let again = async {
        let key = key.as_ref().ok_or_else(|| refusal.clone())?;
        Ok(authenticator.authenticate_again(key).await?)
    };
    // Boxed, so that the future of a request with a live key stays small.
    let caller = Box::pin(check_late(state, &refusal, again)).await?;
    credential.refused = None;
    Ok(credential.caller.insert(caller))
}
