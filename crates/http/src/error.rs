//! What each failure is to a client: one table from error to status and code.

use std::{borrow::Cow, fmt};

use hyper::{
    StatusCode,
    header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use petstore_domain::{AddError, AuthenticationError, StoreError};
use petstore_json::ReadError;

use crate::{
    response::{self, APPLICATION_JSON, Response},
    wire,
};

/// The machine-readable `code` of an error body. Each is documented in `docs/INTERFACE.md` and in
/// `docs/openapi.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    InvalidRequest,
    InvalidJson,
    InvalidPet,
    InvalidQuery,
    InvalidIdempotencyKey,
    Unauthorized,
    PetNotFound,
    RouteNotFound,
    MethodNotAllowed,
    RequestTimeout,
    OperationRemoved,
    BodyTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    Internal,
    NotImplemented,
    Unavailable,
}

impl ErrorCode {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 17] = [
        Self::InvalidRequest,
        Self::InvalidJson,
        Self::InvalidPet,
        Self::InvalidQuery,
        Self::InvalidIdempotencyKey,
        Self::Unauthorized,
        Self::PetNotFound,
        Self::RouteNotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::OperationRemoved,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::IdempotencyKeyReused,
        Self::Internal,
        Self::NotImplemented,
        Self::Unavailable,
    ];

    /// The table of the interface: status and code.
    const fn row(self) -> (StatusCode, &'static str) {
        match self {
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::InvalidJson => (StatusCode::BAD_REQUEST, "invalid_json"),
            Self::InvalidPet => (StatusCode::BAD_REQUEST, "invalid_pet"),
            Self::InvalidQuery => (StatusCode::BAD_REQUEST, "invalid_query"),
            Self::InvalidIdempotencyKey => (StatusCode::BAD_REQUEST, "invalid_idempotency_key"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::PetNotFound => (StatusCode::NOT_FOUND, "pet_not_found"),
            Self::RouteNotFound => (StatusCode::NOT_FOUND, "route_not_found"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::RequestTimeout => (StatusCode::REQUEST_TIMEOUT, "request_timeout"),
            Self::OperationRemoved => (StatusCode::GONE, "operation_removed"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
            }
            Self::IdempotencyKeyReused => {
                (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            Self::NotImplemented => (StatusCode::NOT_IMPLEMENTED, "not_implemented"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.row().0
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.row().1
    }
}

/// A request that is not answered as its sender hoped.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    /// For the client: what was wrong, where, and what would be right.
    pub(crate) message: Cow<'static, str>,
    owed: Owed,
    /// For the log alone: what went wrong inside.
    pub(crate) cause: Option<String>,
}

/// The header that an error owes besides the common ones.
#[derive(Clone, Copy, Debug)]
enum Owed {
    Nothing,
    /// A challenge (RFC 6750, section 3); `true` if a credential was sent.
    Challenge(bool),
    Allow(&'static HeaderValue),
    AcceptPost,
    RetryAfter,
}

impl Owed {
    fn header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Nothing => None,
            Self::Challenge(true) => Some((WWW_AUTHENTICATE, INVALID_TOKEN)),
            Self::Challenge(false) => Some((WWW_AUTHENTICATE, NO_TOKEN)),
            Self::Allow(value) => Some((ALLOW, value.clone())),
            Self::AcceptPost => Some((ACCEPT_POST, APPLICATION_JSON)),
            Self::RetryAfter => Some((RETRY_AFTER, RETRY_SECONDS)),
        }
    }
}

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
/// Overload passes, and a store comes back, in moments rather than minutes.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");
const NO_TOKEN: HeaderValue = HeaderValue::from_static(r#"Bearer realm="petstore""#);
const INVALID_TOKEN: HeaderValue =
    HeaderValue::from_static(r#"Bearer realm="petstore", error="invalid_token""#);

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), owed: Owed::Nothing, cause: None }
    }

    /// 401; a credential was sent but is not good, or none was sent.
    pub(crate) fn unauthorized(credential_sent: bool) -> Self {
        let message = if credential_sent {
            "the API key is unknown, malformed, revoked or expired"
        } else {
            "an API key is required, as the header 'Authorization: Bearer <API key>'"
        };
        Self {
            owed: Owed::Challenge(credential_sent),
            ..Self::new(ErrorCode::Unauthorized, message)
        }
    }

    pub(crate) fn method_not_allowed(allow: &'static HeaderValue) -> Self {
        let methods = allow.to_str().unwrap_or_default();
        let message = format!("this address knows the methods {methods}");
        Self { owed: Owed::Allow(allow), ..Self::new(ErrorCode::MethodNotAllowed, message) }
    }

    pub(crate) fn unsupported_media_type(message: &'static str) -> Self {
        Self { owed: Owed::AcceptPost, ..Self::new(ErrorCode::UnsupportedMediaType, message) }
    }

    pub(crate) fn route_not_found() -> Self {
        Self::new(
            ErrorCode::RouteNotFound,
            "there is nothing at this address; /openapi.json lists what there is",
        )
    }

    /// The service itself is at fault; `cause` goes to the log, never to the client.
    pub(crate) fn internal(cause: impl fmt::Display) -> Self {
        let message = "the service failed; the request id identifies this failure in its log";
        Self { cause: Some(cause.to_string()), ..Self::new(ErrorCode::Internal, message) }
    }

    /// Not now; `cause` goes to the log, never to the client.
    pub(crate) fn unavailable(cause: impl fmt::Display) -> Self {
        let message = "the service cannot answer now; try again after the time in Retry-After";
        Self {
            cause: Some(cause.to_string()),
            owed: Owed::RetryAfter,
            ..Self::new(ErrorCode::Unavailable, message)
        }
    }

    pub(crate) fn into_response(self) -> Response {
        let body = wire::error(self.code, &self.message);
        let mut response = response::json(self.code.status(), body);
        if let Some((name, value)) = self.owed.header() {
            response.headers_mut().insert(name, value);
        }
        response
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
        match error {
            StoreError::Unavailable(_) => Self::unavailable(error),
            StoreError::Corrupt(cause) => Self::internal(cause),
        }
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
            AuthenticationError::Refused => Self::unauthorized(true),
            AuthenticationError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiError, ErrorCode};

    #[test]
    fn every_code_has_a_name_of_its_own_and_an_error_status() {
        for (index, code) in ErrorCode::ALL.into_iter().enumerate() {
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert!(ErrorCode::ALL[..index].iter().all(|other| other.as_str() != code.as_str()));
        }
    }

    #[test]
    fn a_cause_stays_inside() {
        for error in [ApiError::internal("secret path"), ApiError::unavailable("secret path")] {
            assert_eq!(error.cause.as_deref(), Some("secret path"));
            assert!(!format!("{:?}", error.into_response()).contains("secret path"));
        }
    }
}
