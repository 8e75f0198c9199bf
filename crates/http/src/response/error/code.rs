//! The closed list of error codes, each with its status.

use hyper::StatusCode;

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
    Forbidden,
    PetNotFound,
    RouteNotFound,
    MethodNotAllowed,
    RequestTimeout,
    OperationRemoved,
    BodyTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    RateLimited,
    Internal,
    NotImplemented,
    Unavailable,
}

impl ErrorCode {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 19] = [
        Self::InvalidRequest,
        Self::InvalidJson,
        Self::InvalidPet,
        Self::InvalidQuery,
        Self::InvalidIdempotencyKey,
        Self::Unauthorized,
        Self::Forbidden,
        Self::PetNotFound,
        Self::RouteNotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::OperationRemoved,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::IdempotencyKeyReused,
        Self::RateLimited,
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
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
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
            Self::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
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

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_code_has_a_name_of_its_own_and_an_error_status() {
        for (index, code) in ErrorCode::ALL.into_iter().enumerate() {
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert!(ErrorCode::ALL[..index].iter().all(|other| other.as_str() != code.as_str()));
        }
    }
}
