//! The input of a handler, after the pipeline has checked the request. Each operation is a function in a file below.

pub(crate) mod pets;
pub(crate) mod public;
pub(crate) mod readiness;

use std::pin::Pin;

use bytes::Bytes;
use hyper::{StatusCode, http::request::Parts};
use petstore_domain::Caller;

use crate::{
    response::{
        Response,
        error::{ApiError, ErrorCode},
    },
    state::State,
};

/// A request that has passed every check its row asks for.
pub(crate) struct RequestContext<'r> {
    pub(crate) state: &'r State,
    pub(crate) head: &'r Parts,
    /// The value of the path's parameter; empty if it has none.
    pub(crate) parameter: &'r str,
    /// The status of an answer that is no error.
    pub(crate) success: StatusCode,
    /// The client whose key the request carries; `None` outside the base path.
    pub(crate) caller: Option<&'r Caller>,
    /// The whole body; empty if the operation takes none.
    pub(crate) body: Bytes,
}

/// The future of a handler. It is boxed, so that a row of the route table can hold any handler.
pub(crate) type HandlerFuture<'r> =
    Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send + 'r>>;

/// The function of an operation.
pub(crate) type Handler = fn(RequestContext<'_>) -> HandlerFuture<'_>;

/// Answers 501: the interface names the orders listing but does not describe it (section 4.4).
pub(crate) fn orders() -> Result<Response, ApiError> {
    Err(ApiError::new(
        ErrorCode::NotImplemented,
        "the orders listing is named by the interface but not described, so it is not offered",
    ))
}
