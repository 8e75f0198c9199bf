//! Errors as clients see them: the closed list of codes, and the mapping of every error to a code.

use std::{any::Any, borrow::Cow, fmt};

use hyper::{
    StatusCode,
    header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use petstore_domain::{AddError, AuthenticationError, StoreError};
use petstore_json::ReadError;
use serde_json::json;

use crate::response::{self, APPLICATION_JSON, Response};

/// Defines the codes from a table of variant, status and code.
macro_rules! error_codes {
    ($($variant:ident, $status:ident, $code:literal;)+) => {
        /// The machine-readable `code` of an error body. `docs/INTERFACE.md` and `openapi.json` document each code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ErrorCode { $($variant),+ }

        impl ErrorCode {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),+ }
            }

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }
        }
    };
}

error_codes! {
    InvalidRequest, BAD_REQUEST, "invalid_request";
    InvalidJson, BAD_REQUEST, "invalid_json";
    InvalidPet, BAD_REQUEST, "invalid_pet";
    InvalidQuery, BAD_REQUEST, "invalid_query";
    InvalidIdempotencyKey, BAD_REQUEST, "invalid_idempotency_key";
    Unauthorized, UNAUTHORIZED, "unauthorized";
    Forbidden, FORBIDDEN, "forbidden";
    PetNotFound, NOT_FOUND, "pet_not_found";
    RouteNotFound, NOT_FOUND, "route_not_found";
    MethodNotAllowed, METHOD_NOT_ALLOWED, "method_not_allowed";
    RequestTimeout, REQUEST_TIMEOUT, "request_timeout";
    OperationRemoved, GONE, "operation_removed";
    BodyTooLarge, PAYLOAD_TOO_LARGE, "body_too_large";
    UnsupportedMediaType, UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type";
    IdempotencyKeyReused, UNPROCESSABLE_ENTITY, "idempotency_key_reused";
    RateLimited, TOO_MANY_REQUESTS, "rate_limited";
    Internal, INTERNAL_SERVER_ERROR, "internal";
    NotImplemented, NOT_IMPLEMENTED, "not_implemented";
    Unavailable, SERVICE_UNAVAILABLE, "unavailable";
}

/// The failure of a request, for the client, the log and the metrics.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    /// The text for the client: the mistake, its place and the correct form.
    pub(crate) message: Cow<'static, str>,
    /// An additional header of the response.
    header: Option<(HeaderName, HeaderValue)>,
    /// The internal cause, only for the log.
    pub(crate) cause: Option<Box<str>>,
    /// `true` if the store failed, only for the metrics.
    pub(crate) by_store: bool,
}

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
/// The value of `Retry-After`: one second, because overload, a lost store and a rate limit pass in seconds, not in
/// minutes.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

impl ApiError {
    /// Creates an error without an additional header.
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), header: None, cause: None, by_store: false }
    }

    fn with(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// Creates 401 for a key that is not live, or for a request without a credential (RFC 6750, section 3).
    pub(crate) fn unauthorized(credential_sent: bool) -> Self {
        let (message, challenge) = if credential_sent {
            let message = "the API key is unknown, malformed, revoked or expired; \
                           send a live key as the header 'Authorization: Bearer <API key>'";
            (message, r#"Bearer realm="petstore", error="invalid_token""#)
        } else {
            let message = "an API key is required, as the header 'Authorization: Bearer <API key>'";
            (message, r#"Bearer realm="petstore""#)
        };
        Self::new(ErrorCode::Unauthorized, message)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
    }

    /// Creates 403 for a live key that may only read.
    pub(crate) fn forbidden() -> Self {
        let message = "this API key may only read; this operation needs a key that may write";
        let challenge = r#"Bearer realm="petstore", error="insufficient_scope""#;
        Self::new(ErrorCode::Forbidden, message)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
    }

    /// Creates 405. `methods` is the value of `Allow`.
    pub(crate) fn method_not_allowed(methods: HeaderValue) -> Self {
        let names = methods.to_str().unwrap_or_default();
        let message = format!("this address has the methods {names}");
        Self::new(ErrorCode::MethodNotAllowed, message).with(ALLOW, methods)
    }

    /// Creates 415 with the accepted media type.
    pub(crate) fn unsupported_media_type(message: &'static str) -> Self {
        Self::new(ErrorCode::UnsupportedMediaType, message).with(ACCEPT_POST, APPLICATION_JSON)
    }

    /// Creates 404 for an address without a route.
    pub(crate) fn route_not_found() -> Self {
        let message = "this address does not exist; /openapi.json lists all addresses";
        Self::new(ErrorCode::RouteNotFound, message)
    }

    /// Creates 500 for a fault of the service itself. `cause` goes to the log, never to the client.
    pub(crate) fn internal(cause: impl fmt::Display) -> Self {
        let message = "the service failed; the request id identifies this failure in its log";
        Self { cause: Some(cause.to_string().into()), ..Self::new(ErrorCode::Internal, message) }
    }

    /// Creates 500 for a caught panic. The panic hook of the program has reported its location.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::internal(format_args!("a panic: {}", message.unwrap_or("it has no message")))
    }

    /// Creates 503 for a service that drains. The log does not report this error as a failure.
    pub(crate) fn shutting_down() -> Self {
        let message = "the service is shutting down; try again after the time in Retry-After";
        Self::new(ErrorCode::Unavailable, message).with(RETRY_AFTER, RETRY_SECONDS)
    }

    /// Creates 503 for a temporary failure. `cause` goes to the log, never to the client.
    pub(crate) fn unavailable(cause: impl fmt::Display) -> Self {
        let message = "the service cannot answer now; try again after the time in Retry-After";
        let error = Self::new(ErrorCode::Unavailable, message).with(RETRY_AFTER, RETRY_SECONDS);
        Self { cause: Some(cause.to_string().into()), ..error }
    }

    /// Creates 429: a key sends more requests per second than allowed, or too many refusals wait.
    pub(crate) fn rate_limited() -> Self {
        let message = "too many requests in a second; try again after the time in Retry-After";
        Self::new(ErrorCode::RateLimited, message).with(RETRY_AFTER, RETRY_SECONDS)
    }

    /// Returns the response, with the additional header.
    pub(crate) fn into_response(self) -> Response {
        let mut response = response::json(self.code.status(), self.body());
        response.headers_mut().extend(self.header);
        response
    }

    /// Returns the body, by the schema `Error` of the interface.
    pub(crate) fn body(&self) -> String {
        let Self { code, message, .. } = self;
        json!({ "code": code.as_str(), "message": message, "status": code.status().as_u16() })
            .to_string()
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::InvalidJson(message) => Self::new(ErrorCode::InvalidJson, message),
            ReadError::InvalidPet(message) => Self::new(ErrorCode::InvalidPet, message),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::Unavailable(_) | StoreError::Sealed(_) => Self::unavailable(error),
            StoreError::Refused(_) | StoreError::Corrupt(_) => Self::internal(error),
        };
        Self { by_store: true, ..error }
    }
}

impl From<AddError> for ApiError {
    fn from(error: AddError) -> Self {
        match error {
            AddError::IdempotencyKeyReused => Self::new(
                ErrorCode::IdempotencyKeyReused,
                "this Idempotency-Key was used for another animal within the last 24 hours; \
                 a new animal needs a new key",
            ),
            AddError::Store(error) => error.into(),
        }
    }
}

impl From<AuthenticationError> for ApiError {
    fn from(error: AuthenticationError) -> Self {
        match error {
            AuthenticationError::Refused(_) => Self::unauthorized(true),
            AuthenticationError::Store(error) => error.into(),
        }
    }
}
