//! Names for requests: the client's own, or a new one.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest identifier taken from a client, in characters.
const MAX_CHARS: usize = 128;

/// Hexadecimal digits of a 64-bit number.
const DIGITS: usize = 16;

/// Makes request ids: 16 hexadecimal digits drawn once for each process, 16 that count.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: [u8; DIGITS],
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        let process = hexadecimal(RandomState::new().hash_one("petstore"));
        Self { process, next: AtomicU64::new(0) }
    }

    /// The id that the client sent, if it sent one of 1 to 128 visible ASCII characters; else a
    /// new one.
    pub(crate) fn choose(&self, headers: &HeaderMap) -> HeaderValue {
        let mut sent = headers.get_all(X_REQUEST_ID).iter();
        match (sent.next(), sent.next()) {
            (Some(id), None) if is_acceptable(id.as_bytes()) => id.clone(),
            _ => self.generate(),
        }
    }

    fn generate(&self) -> HeaderValue {
        let mut text = [0; 2 * DIGITS];
        text[..DIGITS].copy_from_slice(&self.process);
        text[DIGITS..].copy_from_slice(&hexadecimal(self.next.fetch_add(1, Ordering::Relaxed)));
        HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("-"))
    }
}

fn is_acceptable(id: &[u8]) -> bool {
    (1..=MAX_CHARS).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

fn hexadecimal(mut number: u64) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
    digits
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::HeaderValue};

    use super::{RequestIds, X_REQUEST_ID};

    fn id_for(sent: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for id in sent {
            headers.append(X_REQUEST_ID, HeaderValue::from_bytes(id).unwrap());
        }
        RequestIds::new().choose(&headers).to_str().unwrap().to_owned()
    }

    #[test]
    fn a_visible_id_of_the_client_is_kept() {
        let longest = "x".repeat(128);
        for id in ["a", "7f/+=~!", &longest] {
            assert_eq!(id_for(&[id.as_bytes()]), id);
        }
    }

    #[test]
    fn anything_else_gets_a_new_id() {
        let too_long = [b'x'; 129];
        let bad: [&[&[u8]]; 6] =
            [&[], &[b""], &[b"a b"], &[b"caf\xc3\xa9"], &[b"a", b"b"], &[&too_long]];
        for sent in bad {
            let id = id_for(sent);
            assert_eq!(id.len(), 32, "{sent:?}");
            assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }

    #[test]
    fn new_ids_differ() {
        let ids = RequestIds::new();
        let made: std::collections::HashSet<_> = (0..1000).map(|_| ids.generate()).collect();
        assert_eq!(made.len(), 1000);
    }
}
