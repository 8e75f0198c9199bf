//! Fuzz targets for the parsers of request heads, compiled only for tests and for cargo-fuzz.

use std::str;

use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use petstore_domain::{ApiKeySecret, CursorPosition, IdempotencyKey, PetId, PetQuery, PetStatus};

use crate::{
    request::{auth, cursor, headers, query},
    response::error::{ApiError, ErrorCode},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The upper bound for the length of an error message, in bytes.
const MAX_MESSAGE: usize = 8 * 1024;

/// Returns the cursor of a position as a string.
pub(crate) fn cursor_text(position: CursorPosition) -> String {
    String::from_utf8_lossy(&cursor::encode(position)).into_owned()
}

/// Decodes `data` as a cursor, and encodes a position made from `data`.
///
/// # Panics
/// If two texts are one cursor, or if an encoded position is not decoded to the same position.
pub fn cursor(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data)
        && let Some(position) = cursor::decode(text)
    {
        assert_eq!(cursor_text(position), text, "two texts are the same cursor");
    }
    if let Some((id, rest)) = data.split_first_chunk() {
        let status = rest.first().and_then(|byte| PetStatus::ALL.get(usize::from(*byte)));
        let after = PetId(i64::from_be_bytes(*id));
        let position = CursorPosition { after, status: status.copied() };
        assert_eq!(cursor::decode(&cursor_text(position)), Some(position));
    }
}

/// Reads `data` as a query string.
///
/// # Panics
/// If the parser misreads a query, or refuses one with a wrong code or an unsuitable message.
pub fn query(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let pairs: Vec<_> = form_urlencoded::parse(data).collect();
    match query::list_pets(Some(text)) {
        Ok(query) => {
            assert_eq!(query::list_pets(Some(&written(query))).ok(), Some(query));
            let mut names: Vec<_> = pairs.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            let known = ["cursor", "limit", "status"];
            assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
            assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
            assert_eq!(names.contains(&"cursor"), query.after.is_some());
            assert_eq!(names.contains(&"status"), query.status.is_some());
        }
        Err(error) => assert_explained(&error, ErrorCode::InvalidQuery),
    }
    assert_eq!(query::require_none(Some(text)).is_ok(), pairs.is_empty());
}

/// Returns a query string that is read as `query`.
fn written(query: PetQuery) -> String {
    let PetQuery { limit, status, after } = query;
    let mut text = format!("limit={}", limit.get());
    if let Some(status) = status {
        text.extend(["&status=", status.as_str()]);
    }
    if let Some(after) = after {
        text.extend(["&cursor=", &cursor_text(CursorPosition { after, status })]);
    }
    text
}

/// Reads each line of `data` as an `Authorization` header, and `data` as an API key.
///
/// # Panics
/// If the parser misreads a header, or if the API key has a wrong prefix, form or debug text.
pub fn credential(data: &[u8]) {
    let headers = each_line(&AUTHORIZATION, data);
    let sent: Vec<_> = headers.get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes).collect();
    if let Some(key) = auth::bearer_token(&headers) {
        let token = key.expose();
        assert_eq!(sent.len(), 1, "one of several credentials was taken");
        let (scheme, rest) = sent[0].split_at(7);
        assert!(scheme.eq_ignore_ascii_case(b"bearer "));
        assert_eq!(rest.trim_ascii(), token.as_bytes());
        assert!(!token.is_empty());
    }
    if let Ok(text) = str::from_utf8(data) {
        api_key(text);
    }
}

fn api_key(text: &str) {
    let key = ApiKeySecret::new(text);
    assert!(text.starts_with(key.prefix()) && key.prefix().chars().count() <= 8);
    assert_eq!(format!("{key:?}"), "ApiKeySecret(hidden)");
    if key.is_well_formed() {
        assert!(text.len() == 42 && ["pst_", "psr_"].iter().any(|start| text.starts_with(start)));
        assert!(text.bytes().skip(4).all(|byte| byte.is_ascii_alphanumeric()));
        assert!(!ApiKeySecret::new(&text[..41]).is_well_formed());
        assert!(!ApiKeySecret::new(text.to_lowercase() + "x").is_well_formed());
    }
}

/// Reads each line of `data` as an `Idempotency-Key` header.
///
/// # Panics
/// If the parser misreads a header, or refuses one with a wrong code or an unsuitable message.
pub fn idempotency_key(data: &[u8]) {
    let headers = each_line(&IDEMPOTENCY_KEY, data);
    match headers::idempotency_key(&headers) {
        Ok(None) => assert!(headers.is_empty()),
        Ok(Some(key)) => {
            assert_eq!(headers.len(), 1, "one of several keys was taken");
            let text = key.as_str();
            assert!((1..=IdempotencyKey::MAX_CHARS).contains(&text.len()));
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            let quoted = each_line(&IDEMPOTENCY_KEY, format!("\"{text}\"").as_bytes());
            assert_eq!(headers::idempotency_key(&quoted).ok(), Some(Some(key)));
        }
        Err(error) => assert_explained(&error, ErrorCode::InvalidIdempotencyKey),
    }
}

/// Reads each line of `data` as a `Content-Type` header.
///
/// # Panics
/// If the parser accepts a wrong header, or refuses one with a wrong code or an unsuitable message.
pub fn media_type(data: &[u8]) {
    let headers = each_line(&CONTENT_TYPE, data);
    match headers::require_json(&headers) {
        Ok(()) => {
            assert_eq!(headers.len(), 1, "one of several types was taken");
            let sent = headers[CONTENT_TYPE].to_str().unwrap_or_default().to_ascii_lowercase();
            assert!(sent.trim_start().starts_with("application/json"));
            let charsets = sent.split(';').filter(|part| part.trim().starts_with("charset="));
            // A quoted string may contain any text.
            let is_plain = !sent.contains('"');
            assert!(!is_plain || charsets.clone().all(|it| it.contains("utf-8")), "{sent}");
        }
        Err(error) => assert_explained(&error, ErrorCode::UnsupportedMediaType),
    }
}

/// Returns a header of this name for each line of `data` that is a valid value.
fn each_line(name: &HeaderName, data: &[u8]) -> HeaderMap {
    let lines = data.split(|byte| *byte == b'\n').filter(|_| !data.is_empty());
    let mut headers = HeaderMap::new();
    for value in lines.filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(name, value);
    }
    headers
}

fn assert_explained(error: &ApiError, code: ErrorCode) {
    assert_eq!(error.code, code);
    let message = &error.message;
    assert!((1..MAX_MESSAGE).contains(&message.len()) && !message.contains(char::is_control));
}

#[cfg(test)]
mod tests {
    use petstore_testing::fuzz;

    #[test]
    fn any_input_is_read_as_promised() {
        for (name, target) in [
            ("cursor", super::cursor as fn(&[u8])),
            ("query", super::query),
            ("credential", super::credential),
            ("idempotency_key", super::idempotency_key),
            ("media_type", super::media_type),
        ] {
            fuzz(name, target);
        }
    }
}
