//! The operations of the service, one function each, and their common input.

pub(crate) mod metrics;
pub(crate) mod pets;
pub(crate) mod public;
pub(crate) mod readiness;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::{StatusCode, http::request::Parts};
use petstore_domain::Caller;

use crate::{
    response::{
        Response,
        error::{ApiError, ErrorCode},
    },
    state::State,
};

/// A request that has passed the checks of the pipeline.
pub(crate) struct RequestContext<'r> {
    pub(crate) state: &'r State,
    pub(crate) head: &'r Parts,
    /// The value of the path parameter; empty if the route has none.
    pub(crate) parameter: &'r str,
    /// The status of a successful response.
    pub(crate) success: StatusCode,
    /// The caller; `None` outside the base path.
    pub(crate) caller: Option<&'r Caller>,
    /// The whole body; empty if the operation reads none.
    pub(crate) body: Bytes,
}

/// The function of an operation. Its future is boxed, so that the route table can hold any handler.
pub(crate) type Handler = fn(RequestContext<'_>) -> BoxFuture<'_, Result<Response, ApiError>>;

/// Answers 501. The interface names the orders listing but does not describe it.
pub(crate) fn orders() -> Result<Response, ApiError> {
    Err(ApiError::new(
        ErrorCode::NotImplemented,
        "the orders listing is named by the interface but not described, so it is not offered",
    ))
}
