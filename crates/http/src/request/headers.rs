//! The headers of createPet: `Content-Type`, `Content-Encoding` and `Idempotency-Key`.

use hyper::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
};
use petstore_domain::{IdempotencyKey, InvalidIdempotencyKey};

use super::only;
use crate::response::error::{ApiError, ErrorCode};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns 415 unless the body is `application/json` without a content coding.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let message = match only(headers, &CONTENT_TYPE) {
        None if !headers.contains_key(CONTENT_TYPE) => {
            "the header 'Content-Type: application/json' is required"
        }
        None => "there must be one Content-Type header, not several",
        Some(sent) if !is_json(sent) => "the Content-Type must be application/json, in UTF-8",
        _ if headers.get_all(CONTENT_ENCODING).iter().any(|coding| !is_identity(coding)) => {
            "the body must be sent without a Content-Encoding"
        }
        _ => return Ok(()),
    };
    Err(ApiError::unsupported_media_type(message))
}

/// Returns whether `sent` is `application/json`. It may have any parameters, but a `charset` must be UTF-8. Quoted
/// strings are not parsed: a `charset` in the quoted value of another parameter counts too.
fn is_json(sent: &HeaderValue) -> bool {
    let mut parts = sent.to_str().unwrap_or_default().split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            !name.eq_ignore_ascii_case("charset")
                || quoted.unwrap_or(value).eq_ignore_ascii_case("utf-8")
        })
}

fn is_identity(coding: &HeaderValue) -> bool {
    coding.to_str().is_ok_and(|text| text.trim().eq_ignore_ascii_case("identity"))
}

/// Returns the idempotency key of the client, or `None` without the header.
///
/// # Errors
/// The header is malformed or is sent more than once.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    if !headers.contains_key(IDEMPOTENCY_KEY) {
        return Ok(None);
    }
    let sent = only(headers, &IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
    let key = sent.and_then(unquoted).ok_or(InvalidIdempotencyKey);
    key.and_then(IdempotencyKey::parse).map(Some).map_err(|rule| {
        let message = format!(
            "the header Idempotency-Key {rule}, bare or between double quotes, and be given once at most"
        );
        ApiError::new(ErrorCode::InvalidIdempotencyKey, message)
    })
}

/// Returns the key without its quotes: `abc` and `"abc"` are the same key. Returns `None` for a quote at one end only.
fn unquoted(text: &str) -> Option<&str> {
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"'),
        None => Some(text).filter(|text| !text.ends_with('"')),
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
    fn a_media_type_other_than_json_or_a_content_coding_is_refused() {
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
            "application/json; profile=\"a;b\"; charset=latin1",
            "application/json; profile=\"a\\\\\"; charset=latin1",
            "application/json; profile=\"a;charset=latin1\"",
            "application/json; charset=\"utf-8",
            "application/json; charset=utf-8; charset=latin1",
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
        assert_eq!(key_in(&[b"\"\"\""]), Ok(Some("\"".into())));
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
