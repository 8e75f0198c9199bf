//! What each failure is to a client: one table from error to status and code.

mod code;

use std::{any::Any, borrow::Cow, fmt};

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use petstore_domain::{AddError, AuthenticationError, StoreError};
use petstore_json::ReadError;
use serde::Serialize;

pub(crate) use self::code::ErrorCode;
use crate::response::{self, APPLICATION_JSON, Response};

/// A request that is not answered as its sender hoped.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    /// For the client: what was wrong, where, and what would be right.
    pub(crate) message: Cow<'static, str>,
    extra: ExtraHeader,
    /// For the log alone: what went wrong inside.
    pub(crate) cause: Option<String>,
    /// For the metrics alone: the store failed.
    pub(crate) by_store: bool,
}

/// The header that an error has besides the common ones.
#[derive(Clone, Debug)]
enum ExtraHeader {
    None,
    /// A challenge (RFC 6750, section 3).
    Challenge(HeaderValue),
    Allow(HeaderValue),
    AcceptPost,
    RetryAfter,
}

impl ExtraHeader {
    fn into_header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::None => None,
            Self::Challenge(challenge) => Some((WWW_AUTHENTICATE, challenge)),
            Self::Allow(methods) => Some((ALLOW, methods)),
            Self::AcceptPost => Some((ACCEPT_POST, APPLICATION_JSON)),
            Self::RetryAfter => Some((RETRY_AFTER, RETRY_SECONDS)),
        }
    }
}

/// Schema `Error` of the interface: exactly three fields.
#[derive(Serialize)]
struct ErrorJson<'a> {
    code: &'static str,
    message: &'a str,
    status: u16,
}

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
/// Overload passes, a store comes back, and a limited client has its turn in moments rather than
/// minutes.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");
const NO_TOKEN: HeaderValue = HeaderValue::from_static(r#"Bearer realm="petstore""#);
const INVALID_TOKEN: HeaderValue =
    HeaderValue::from_static(r#"Bearer realm="petstore", error="invalid_token""#);
const INSUFFICIENT_SCOPE: HeaderValue =
    HeaderValue::from_static(r#"Bearer realm="petstore", error="insufficient_scope""#);

impl ApiError {
    /// An error without an extra header.
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        let (extra, cause) = (ExtraHeader::None, None);
        Self { code, message: message.into(), extra, cause, by_store: false }
    }

    /// 401; a credential was sent but is not good, or none was sent.
    pub(crate) fn unauthorized(credential_sent: bool) -> Self {
        let message = if credential_sent {
            "the API key is unknown, malformed, revoked or expired; \
             send one as the header 'Authorization: Bearer <API key>'"
        } else {
            "an API key is required, as the header 'Authorization: Bearer <API key>'"
        };
        Self {
            extra: ExtraHeader::Challenge(if credential_sent { INVALID_TOKEN } else { NO_TOKEN }),
            ..Self::new(ErrorCode::Unauthorized, message)
        }
    }

    /// 403: the key is good, but may only read.
    pub(crate) fn forbidden() -> Self {
        let message = "this API key may only read; adding an animal needs one that may write";
        let extra = ExtraHeader::Challenge(INSUFFICIENT_SCOPE);
        Self { extra, ..Self::new(ErrorCode::Forbidden, message) }
    }

    /// 405 at an address that knows `methods`, a list as `Allow` has it.
    pub(crate) fn method_not_allowed(methods: &str) -> Self {
        let message = format!("this address knows the methods {methods}");
        match HeaderValue::from_str(methods) {
            Ok(allow) => Self {
                extra: ExtraHeader::Allow(allow),
                ..Self::new(ErrorCode::MethodNotAllowed, message)
            },
            Err(error) => Self::internal(error),
        }
    }

    /// 415, with what is taken.
    pub(crate) fn unsupported_media_type(message: &'static str) -> Self {
        Self {
            extra: ExtraHeader::AcceptPost,
            ..Self::new(ErrorCode::UnsupportedMediaType, message)
        }
    }

    /// 404 for an address.
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

    /// A panic was caught. The program's panic hook has said where it was.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::internal(format_args!("a panic: {}", message.unwrap_or("it has no message")))
    }

    /// Not now; `cause` goes to the log, never to the client.
    pub(crate) fn unavailable(cause: impl fmt::Display) -> Self {
        let message = "the service cannot answer now; try again after the time in Retry-After";
        Self {
            cause: Some(cause.to_string()),
            extra: ExtraHeader::RetryAfter,
            ..Self::new(ErrorCode::Unavailable, message)
        }
    }

    /// 429: faster than a limit allows. All limits are a number a second, and answer alike.
    pub(crate) fn rate_limited() -> Self {
        let message = "too many requests in a second; try again after the time in Retry-After";
        Self { extra: ExtraHeader::RetryAfter, ..Self::new(ErrorCode::RateLimited, message) }
    }

    /// The response with its body and its extra header.
    pub(crate) fn into_response(self) -> Response {
        let mut response = response::json(self.code.status(), self.body());
        if let Some((name, value)) = self.extra.into_header() {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn body(&self) -> Bytes {
        let (code, status) = (self.code.as_str(), self.code.status().as_u16());
        let error = ErrorJson { code, message: &self.message, status };
        let mut json = Vec::with_capacity(64 + self.message.len());
        // Strings and a number in memory: this never fails.
        let _ = serde_json::to_writer(&mut json, &error);
        json.into()
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
            StoreError::Unavailable(_) | StoreError::Fenced(_) => Self::unavailable(error),
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
            AuthenticationError::Refused => Self::unauthorized(true),
            AuthenticationError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiError, ErrorCode};

    #[test]
    fn an_error_has_three_fields() {
        assert_eq!(
            ApiError::new(ErrorCode::InvalidQuery, "say \"20\"").body(),
            r#"{"code":"invalid_query","message":"say \"20\"","status":400}"#
        );
    }

    #[test]
    fn a_cause_stays_inside() {
        for error in [ApiError::internal("secret path"), ApiError::unavailable("secret path")] {
            assert_eq!(error.cause.as_deref(), Some("secret path"));
            assert!(!format!("{:?}", error.into_response()).contains("secret path"));
        }
    }
}
