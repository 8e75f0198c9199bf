//! The `Idempotency-Key` header of createPet.

use hyper::{HeaderMap, header::HeaderName};
use petstore_domain::{IdempotencyKey, InvalidIdempotencyKey};

use crate::error::{ApiError, ErrorCode};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key that the client sent, if it sent one.
pub(crate) fn read(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
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

/// The key without its quotes: `abc` and `"abc"` are the same key. One lone quote at either end is a
/// mistake.
fn unquoted(text: &str) -> Result<&str, InvalidIdempotencyKey> {
    match (text.strip_prefix('"'), text.strip_suffix('"')) {
        (None, None) => Ok(text),
        (Some(rest), Some(_)) => rest.strip_suffix('"').ok_or(InvalidIdempotencyKey),
        (Some(_), None) | (None, Some(_)) => Err(InvalidIdempotencyKey),
    }
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::HeaderValue};

    use super::{IDEMPOTENCY_KEY, read};

    fn key_in(sent: &[&'static [u8]]) -> Result<Option<String>, ()> {
        let mut headers = HeaderMap::new();
        for key in sent {
            headers.append(
                IDEMPOTENCY_KEY,
                HeaderValue::from_static(std::str::from_utf8(key).unwrap_or("\u{7f}")),
            );
        }
        read(&headers).map(|key| key.map(|key| key.as_str().to_owned())).map_err(|_| ())
    }

    #[test]
    fn one_header_with_a_good_key_or_none_at_all() {
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
    fn bytes_beyond_ascii_are_no_key() {
        let mut headers = HeaderMap::new();
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(b"caf\xc3\xa9").unwrap());
        assert!(read(&headers).is_err());
    }
}
