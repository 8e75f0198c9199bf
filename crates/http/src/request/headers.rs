//! The headers of createPet: `Content-Type`, `Content-Encoding` and `Idempotency-Key`.

use hyper::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
};
use petstore_domain::{IdempotencyKey, InvalidIdempotencyKey};

use crate::response::error::{ApiError, ErrorCode};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns 415 unless the body is `application/json` without a content coding.
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

/// Returns whether `sent` is `application/json`, with any parameters except a `charset` other than UTF-8.
fn is_json(sent: &HeaderValue) -> bool {
    let Ok(text) = sent.to_str() else { return false };
    let (essence, mut rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    while let Some(parameter) = rest.trim_start().strip_prefix(';') {
        let Some(after) = after_parameter(parameter.trim_start()) else { return false };
        rest = after;
    }
    essence.trim().eq_ignore_ascii_case("application/json") && rest.trim().is_empty()
}

/// Returns the text after the first parameter (RFC 9110, section 5.6.6). Returns `None` if the parameter is malformed or is
/// a `charset` other than UTF-8.
fn after_parameter(text: &str) -> Option<&str> {
    if text.is_empty() || text.starts_with(';') {
        return Some(text); // Some clients send `application/json;`.
    }
    let (name, value) = text.split_once('=')?;
    let (value, after) = match value.strip_prefix('"') {
        Some(quoted) => {
            let mut escaped = false;
            let end = quoted.find(|char| {
                let is_literal = escaped;
                escaped = char == '\\' && !is_literal;
                char == '"' && !is_literal
            })?;
            (&quoted[..end], &quoted[end + 1..])
        }
        None => value.split_at(value.find(';').unwrap_or(value.len())),
    };
    let is_utf_8 = || value.trim_end().eq_ignore_ascii_case("utf-8");
    let is_good =
        !name.contains([';', '"']) && (!name.eq_ignore_ascii_case("charset") || is_utf_8());
    is_good.then_some(after)
}

fn is_identity(coding: &HeaderValue) -> bool {
    coding.to_str().is_ok_and(|text| text.trim().eq_ignore_ascii_case("identity"))
}

/// Returns the idempotency key of the client, or `None` without the header.
///
/// # Errors
/// The header is malformed or is sent more than once.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut sent = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = match (sent.next(), sent.next()) {
        (None, _) => return Ok(None),
        (Some(key), None) => {
            let key = key.to_str().map_err(|_| InvalidIdempotencyKey);
            key.and_then(unquoted).and_then(IdempotencyKey::parse)
        }
        (Some(_), Some(_)) => Err(InvalidIdempotencyKey),
    };
    key.map(Some).map_err(|rule| {
        let message = format!(
            "the header Idempotency-Key {rule}, bare or between double quotes, and be given once at most"
        );
        ApiError::new(ErrorCode::InvalidIdempotencyKey, message)
    })
}

/// Returns the key without its quotes: `abc` and `"abc"` are the same key. A single quote at one end is an error.
fn unquoted(text: &str) -> Result<&str, InvalidIdempotencyKey> {
    match (text.strip_prefix('"'), text.strip_suffix('"')) {
        (None, None) => Ok(text),
        (Some(rest), Some(_)) => rest.strip_suffix('"').ok_or(InvalidIdempotencyKey),
        (Some(_), None) | (None, Some(_)) => Err(InvalidIdempotencyKey),
    }
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
    };

    use super::{IDEMPOTENCY_KEY, idempotency_key, require_json};

    fn accepts(sent: &[(HeaderName, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name, HeaderValue::from_static(value));
        }
        require_json(&headers).is_ok()
    }

    #[test]
    fn json_in_utf_8_is_accepted() {
        for value in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json ; Charset=Utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json; profile=x",
            "application/json; profile=\"a;b\"",
            "application/json; profile=\"a;b\"; charset=utf-8",
            "application/json; profile=\"a\\\";\\\\\"; charset=utf-8",
            "application/json;",
        ] {
            assert!(accepts(&[(CONTENT_TYPE, value)]), "{value}");
        }
        assert!(accepts(&[(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "identity")]));
    }

    #[test]
    fn any_other_media_type_or_coding_is_refused() {
        for value in [
            "",
            "text/plain",
            "application/jsonx",
            "application/problem+json",
            "text/json",
            "json",
            "application/*",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=",
            "application/json; charset=utf-16",
            "application/json; charset=latin1",
            "application/json; charset",
            "application/json; charset; profile=x",
            "application/json; profile=\"a\"b",
            "application/json; profile=\"a;b\"; charset=latin1",
            "application/json; profile=\"a\\\\\"; charset=latin1",
            "application/json; profile=\"a; charset=utf-8",
            "application/json, application/json",
            "*/*",
        ] {
            assert!(!accepts(&[(CONTENT_TYPE, value)]), "{value}");
        }
        assert!(!accepts(&[]));
        let json = (CONTENT_TYPE, "application/json");
        assert!(!accepts(&[json.clone(), json.clone()]));
        let identity = (CONTENT_ENCODING, "identity");
        assert!(!accepts(&[json.clone(), identity, (CONTENT_ENCODING, "gzip")]));
        for coding in ["gzip", "GZIP", "br", "zstd", "", "identity, gzip", "gzip, identity"] {
            assert!(!accepts(&[json.clone(), (CONTENT_ENCODING, coding)]), "{coding}");
        }
    }

    fn key_in(sent: &[&'static [u8]]) -> Result<Option<String>, ()> {
        let mut headers = HeaderMap::new();
        for key in sent {
            headers.append(
                IDEMPOTENCY_KEY,
                HeaderValue::from_static(std::str::from_utf8(key).unwrap_or("\u{7f}")),
            );
        }
        idempotency_key(&headers).map(|key| key.map(|key| key.as_str().to_owned())).map_err(|_| ())
    }

    #[test]
    fn the_header_is_sent_once_with_a_valid_key_or_not_at_all() {
        assert_eq!(key_in(&[]), Ok(None));
        assert_eq!(key_in(&[b"abc"]), Ok(Some("abc".into())));
        assert_eq!(key_in(&[b"\"abc\""]), Ok(Some("abc".into())));
        assert_eq!(key_in(&[b""]), Err(()));
        assert_eq!(key_in(&[b"a b"]), Err(()));
        assert_eq!(key_in(&[b"a\"b"]), Ok(Some("a\"b".into())));
        for lone in [&b"\""[..], b"\"a", b"a\"", b"\"\""] {
            assert_eq!(key_in(&[lone]), Err(()));
        }
        assert_eq!(key_in(&[b"abc", b"abc"]), Err(()));
    }

    #[test]
    fn a_key_is_ascii() {
        let mut headers = HeaderMap::new();
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(b"caf\xc3\xa9").unwrap());
        assert!(idempotency_key(&headers).is_err());
    }
}
