//! The JSON of an error (interface, section 2). That of animals is the crate `petstore-json`'s.

use bytes::Bytes;
use serde::Serialize;

use crate::error::ErrorCode;

#[derive(Serialize)]
struct ErrorJson<'a> {
    code: &'static str,
    message: &'a str,
    status: u16,
}

/// Schema `Error`: exactly three fields.
pub(crate) fn error(code: ErrorCode, message: &str) -> Bytes {
    let status = code.status().as_u16();
    let error = ErrorJson { code: code.as_str(), message, status };
    let mut json = Vec::with_capacity(64 + message.len());
    // Strings and a number in memory: this never fails.
    let _ = serde_json::to_writer(&mut json, &error);
    json.into()
}

#[cfg(test)]
mod tests {
    use super::error;
    use crate::error::ErrorCode;

    #[test]
    fn an_error_has_three_fields() {
        assert_eq!(
            error(ErrorCode::InvalidQuery, "say \"20\""),
            r#"{"code":"invalid_query","message":"say \"20\"","status":400}"#
        );
    }
}
