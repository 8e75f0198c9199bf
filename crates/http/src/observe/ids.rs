//! The ids of a request: the request id, and the trace of the client (W3C Trace Context, level 1).
//!
//! A request with a valid `traceparent` becomes a span of the client's trace. The log names the trace, and the response
//! names the span in `traceresponse`, a header of a later level of the specification. The service sends no requests, so
//! it begins no traces and ignores `tracestate`.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

use crate::request::only;

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
/// The longest request id accepted from a client, in characters.
const MAX_CHARS: usize = 128;
/// The position of the trace id in a `traceresponse`.
const TRACE_ID: Range<usize> = 3..35;
const SAMPLED: u8 = 1;

/// Generates ids from a counter. A request id is a random number of the process, followed by the counter. A span id is
/// a hash of the counter.
#[derive(Debug)]
pub(crate) struct RequestIds {
    random: RandomState,
    process: u128,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        let process = u128::from(random.hash_one("process")) << 64;
        // A random start, so that an id does not reveal the number of requests.
        let next = AtomicU64::new(random.hash_one("first"));
        Self { random, process, next }
    }

    /// Returns the client's request id if it has 1 to 128 visible ASCII characters; otherwise a new id of 32
    /// hexadecimal digits.
    pub(crate) fn choose(&self, headers: &HeaderMap) -> HeaderValue {
        let is_good = |id: &&HeaderValue| {
            (1..=MAX_CHARS).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        let sent = only(headers, &X_REQUEST_ID).filter(is_good);
        sent.cloned().unwrap_or_else(|| self.generate())
    }

    /// Returns a new id. Every request needs an id, and `format!` would take twice as long.
    fn generate(&self) -> HeaderValue {
        let number = self.process | u128::from(self.next());
        let mut id = [0; 32];
        for (digits, byte) in id.chunks_exact_mut(2).zip(number.to_be_bytes()) {
            digits[0] = HEX_DIGITS[usize::from(byte >> 4)];
            digits[1] = HEX_DIGITS[usize::from(byte & 15)];
        }
        HeaderValue::from_bytes(&id).unwrap_or(HeaderValue::from_static("-"))
    }

    /// Returns the value of `traceresponse`, with a new span, for a request with a valid `traceparent`.
    pub(crate) fn trace(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let (trace_id, flags) = parse(headers)?;
        // Zero is an invalid id.
        let span_id = self.random.hash_one(self.next()).max(1);
        let text = format!("00-{trace_id}-{span_id:016x}-{:02x}", flags & SAMPLED);
        HeaderValue::try_from(text).ok()
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// Returns the trace id in a `traceresponse`: 32 hexadecimal digits.
pub(crate) fn trace_id(traceresponse: &HeaderValue) -> &str {
    traceresponse.to_str().map_or("", |text| &text[TRACE_ID])
}

/// Returns the trace id and the flags, if there is exactly one `traceparent` and it is valid.
fn parse(headers: &HeaderMap) -> Option<(&str, u8)> {
    let mut parts = only(headers, &TRACEPARENT)?.to_str().ok()?.split('-');
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let mut digits =
        |length| parts.next().filter(|part| part.len() == length && part.bytes().all(is_digit));
    let [version, trace_id, parent_id, flags] = [digits(2)?, digits(32)?, digits(16)?, digits(2)?];
    // A later version begins with the fields of version 00.
    let is_known = if version == "00" { parts.next().is_none() } else { version != "ff" };
    let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
    let is_valid = is_known && !is_zero(trace_id) && !is_zero(parent_id);
    Some((trace_id, u8::from_str_radix(flags, 16).ok()?)).filter(|_| is_valid)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{RequestIds, TRACEPARENT, X_REQUEST_ID, trace_id};
    use crate::request::tests::headers_of;

    #[test]
    fn a_visible_id_of_the_client_is_kept_and_any_other_is_replaced() {
        let [longest, too_long] = [128, 129].map(|length| "x".repeat(length));
        for (sent, is_kept) in [
            (&["a"][..], true),
            (&["7f/+=~!"], true),
            (&[&longest], true),
            (&[], false),
            (&[""], false),
            (&["a b"], false),
            (&["café"], false),
            (&["a", "b"], false),
            (&[&too_long], false),
        ] {
            let id = RequestIds::new().choose(&headers_of(&X_REQUEST_ID, sent));
            let id = id.to_str().unwrap();
            let is_new = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert_eq!((is_new, sent.contains(&id)), (!is_kept, is_kept), "{sent:?}");
        }
    }

    #[test]
    fn new_ids_differ() {
        let ids = RequestIds::new();
        let of_one = [(); 1000].map(|()| ids.generate());
        assert_eq!(HashSet::from(of_one).len(), 1000);
        // Both halves are random. Otherwise an id would show how many requests came before.
        let of_many = [(); 1000].map(|()| RequestIds::new().generate());
        for half in [0..16, 16..32] {
            let halves = of_many.iter().map(|id| &id.as_bytes()[half.clone()]);
            assert_eq!(halves.collect::<HashSet<_>>().len(), 1000, "{half:?}");
        }
    }

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    fn response(sent: &[&str]) -> Option<String> {
        let trace = RequestIds::new().trace(&headers_of(&TRACEPARENT, sent))?;
        assert_eq!(trace_id(&trace), TRACE);
        Some(trace.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_valid_traceparent_is_continued_with_a_new_span() {
        for (sent, flags) in [
            (format!("00-{TRACE}-{PARENT}-01"), "01"),
            (format!("00-{TRACE}-{PARENT}-00"), "00"),
            (format!("00-{TRACE}-{PARENT}-ff"), "01"),
            (format!("00-{TRACE}-{PARENT}-02"), "00"),
            // The beginning of a later version is read.
            (format!("01-{TRACE}-{PARENT}-01"), "01"),
            (format!("cc-{TRACE}-{PARENT}-01-what the future will be like"), "01"),
        ] {
            let answered = response(&[&sent]).unwrap_or_else(|| panic!("{sent}"));
            let fields: Vec<_> = answered.split('-').collect();
            assert_eq!((fields.len(), fields[0], fields[1], fields[3]), (4, "00", TRACE, flags));
            assert!(fields[2].len() == 16 && fields[2] != PARENT, "{answered}");
        }
        let one = format!("00-{TRACE}-{PARENT}-01");
        assert_ne!(response(&[&one]), response(&[&one]), "each request is a span of its own");
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        let zeros = "0".repeat(32);
        let upper = TRACE.to_uppercase();
        for sent in [
            String::new(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-01-"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("01-{TRACE}-{PARENT}-01extra"),
            format!("0-{TRACE}-{PARENT}-001"),
            format!("00-{upper}-{PARENT}-01"),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{}-{PARENT}0-01", &TRACE[1..]),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
            format!("00-{TRACE}-{PARENT}-0é"),
        ] {
            assert_eq!(response(&[&sent]), None, "{sent}");
        }
        let good = format!("00-{TRACE}-{PARENT}-01");
        assert_eq!(response(&[&good, &good]), None, "two headers are invalid");
        assert_eq!(response(&[]), None);
    }
}
