//! The orders listing, which the interface names but does not describe (section 4.4).

use crate::{
    error::{ApiError, ErrorCode},
    response::Response,
};

/// 501.
pub(crate) fn handle() -> Result<Response, ApiError> {
    Err(ApiError::new(
        ErrorCode::NotImplemented,
        "the orders listing is named by the interface but not described, so it is not offered",
    ))
}
