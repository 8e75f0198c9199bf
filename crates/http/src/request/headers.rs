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
    use super::{
        CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, IDEMPOTENCY_KEY, IdempotencyKey,
        idempotency_key, require_json,
    };
    use crate::request::tests::headers_of;

    #[test]
    fn only_json_in_utf_8_is_accepted() {
        for (value, is_json) in [
            ("application/json", true),
            ("Application/JSON", true),
            ("application/json ; Charset=Utf-8", true),
            ("application/json;charset=\"UTF-8\"", true),
            ("application/json; profile=\"a;b\"; charset=utf-8", true),
            ("application/json; profile=\"a\\\";\\\\\"; charset=utf-8", true),
            ("application/json;", true),
            ("", false),
            ("application/jsonx", false),
            ("application/json; charset=", false),
            ("application/json; charset=utf-16", false),
            ("application/json; charset; profile=x", false),
            ("application/json; profile=\"a;b\"; charset=latin1", false),
            ("application/json; profile=\"a;charset=latin1\"", false),
            ("application/json; charset=\"utf-8", false),
            ("application/json; charset=utf-8; charset=latin1", false),
            ("application/json, application/json", false),
        ] {
            let headers = headers_of(&CONTENT_TYPE, &[value]);
            assert_eq!(require_json(&headers).is_ok(), is_json, "{value}");
        }
        assert!(require_json(&HeaderMap::new()).is_err());
        let twice = headers_of(&CONTENT_TYPE, &["application/json"; 2]);
        assert!(require_json(&twice).unwrap_err().message.contains("not several"));
    }

    #[test]
    fn a_content_coding_is_refused() {
        for (codings, is_accepted) in [
            (&[" Identity "][..], true),
            (&["identity", "gzip"], false),
            (&["identity, gzip"], false),
            (&["gzip"], false),
            (&[""], false),
        ] {
            let mut headers = headers_of(&CONTENT_ENCODING, codings);
            headers.extend(headers_of(&CONTENT_TYPE, &["application/json"]));
            assert_eq!(require_json(&headers).is_ok(), is_accepted, "{codings:?}");
        }
    }

    #[test]
    fn the_header_is_sent_once_with_a_valid_key_or_not_at_all() {
        let valid = |key| Ok(Some(key));
        for (sent, expected) in [
            (&[][..], Ok(None)),
            (&["abc"], valid("abc")),
            (&["\"abc\""], valid("abc")),
            (&["a\"b"], valid("a\"b")),
            (&["\"\"\""], valid("\"")),
            (&["a b"], Err(())),
            (&["café"], Err(())),
            (&["\""], Err(())),
            (&["\"a"], Err(())),
            (&["a\""], Err(())),
            (&["\"\""], Err(())),
            (&["abc", "abc"], Err(())),
        ] {
            let key = idempotency_key(&headers_of(&IDEMPOTENCY_KEY, sent)).map_err(|_| ());
            let expected = expected.map(|key| key.map(|key| IdempotencyKey::parse(key).unwrap()));
            assert_eq!(key, expected, "{sent:?}");
        }
    }
}
