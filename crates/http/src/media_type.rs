//! What a request body may be: JSON in UTF-8, as it is.

use hyper::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
};

use crate::error::ApiError;

/// Refuses, with 415, a body that is not `application/json` or is encoded.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let message = match (types.next(), types.next()) {
        (None, _) => "the header 'Content-Type: application/json' is required",
        (Some(_), Some(_)) => "there must be one Content-Type header, not several",
        (Some(sent), None) if !is_json(sent) => {
            "the Content-Type must be application/json, in UTF-8"
        }
        _ if headers.get_all(CONTENT_ENCODING).iter().any(|coding| !is_identity(coding)) => {
            "the body must be sent without a Content-Encoding"
        }
        _ => return Ok(()),
    };
    Err(ApiError::unsupported_media_type(message))
}

/// `application/json`, any parameters; a `charset` among them only if it is UTF-8.
fn is_json(sent: &HeaderValue) -> bool {
    let Ok(text) = sent.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json") && parts.all(is_harmless)
}

fn is_harmless(parameter: &str) -> bool {
    if parameter.is_empty() {
        return true; // `application/json;` is what some clients send.
    }
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    !name.eq_ignore_ascii_case("charset") || bare.eq_ignore_ascii_case("utf-8")
}

fn is_identity(coding: &HeaderValue) -> bool {
    coding.to_str().is_ok_and(|text| text.trim().eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
    };

    use super::require_json;

    fn accepts(sent: &[(HeaderName, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name, HeaderValue::from_static(value));
        }
        require_json(&headers).is_ok()
    }

    #[test]
    fn json_in_utf_8_is_taken() {
        for value in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json; profile=x",
            "application/json;",
        ] {
            assert!(accepts(&[(CONTENT_TYPE, value)]), "{value}");
        }
        assert!(accepts(&[(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "identity")]));
    }

    #[test]
    fn anything_else_is_refused() {
        for value in [
            "",
            "text/plain",
            "application/jsonx",
            "application/problem+json",
            "application/json; charset=latin1",
            "application/json; charset",
            "application/json, application/json",
            "*/*",
        ] {
            assert!(!accepts(&[(CONTENT_TYPE, value)]), "{value}");
        }
        assert!(!accepts(&[]));
        let json = (CONTENT_TYPE, "application/json");
        assert!(!accepts(&[json.clone(), json.clone()]));
        for coding in ["gzip", "br", "", "identity, gzip"] {
            assert!(!accepts(&[json.clone(), (CONTENT_ENCODING, coding)]), "{coding}");
        }
    }
}
