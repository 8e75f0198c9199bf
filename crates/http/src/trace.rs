//! The trace that a request belongs to (W3C Trace Context, level 1).
//!
//! A request with a valid `traceparent` is a span of the trace of its client. The log names the trace, and
//! the answer has `traceresponse` with the id of that span: level 1 gives `traceparent` to requests alone,
//! and `traceresponse` is what the next level gives to answers. `tracestate` is for those who pass a request
//! on, and is not read. A request without a valid `traceparent` belongs to no trace: one is begun for
//! requests that are passed on, and this service sends none.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The length of a `traceparent` of version 00, in characters. One of a later version begins like it.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;

/// The span of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace_id: u128,
    /// This request.
    pub(crate) span_id: u64,
    /// The trace is recorded.
    pub(crate) sampled: bool,
}

impl TraceContext {
    /// The trace as a log names it: 32 hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        format!("{:032x}", self.trace_id)
    }

    /// The value of `traceresponse`.
    pub(crate) fn response(&self) -> Option<HeaderValue> {
        let Self { trace_id, span_id, sampled, .. } = self;
        let flags = if *sampled { SAMPLED } else { 0 };
        HeaderValue::try_from(format!("00-{trace_id:032x}-{span_id:016x}-{flags:02x}")).ok()
    }
}

/// Gives spans their ids.
#[derive(Debug)]
pub(crate) struct Traces {
    /// Random: an id is the hash of a number that counts.
    ids: RandomState,
    next: AtomicU64,
}

impl Traces {
    pub(crate) fn new() -> Self {
        Self { ids: RandomState::new(), next: AtomicU64::new(0) }
    }

    /// The span of a request with these headers, if it belongs to a trace.
    pub(crate) fn span(&self, headers: &HeaderMap) -> Option<TraceContext> {
        let (trace_id, sampled) = parse(headers)?;
        Some(TraceContext { trace_id, span_id: self.new_id(), sampled })
    }

    /// Zero is no id.
    fn new_id(&self) -> u64 {
        self.ids.hash_one(self.next.fetch_add(1, Ordering::Relaxed)).max(1)
    }
}

/// The trace, the span and whether it is recorded, if there is one `traceparent` and it is valid.
fn parse(headers: &HeaderMap) -> Option<(u128, bool)> {
    let mut sent = headers.get_all(TRACEPARENT).iter();
    let text = sent.next()?.to_str().ok().filter(|_| sent.next().is_none())?;
    let (known, later) = text.split_at_checked(LENGTH)?;
    let mut fields = known.split('-');
    let version = hexadecimal(fields.next()?, 2)?;
    let trace_id = hexadecimal(fields.next()?, 32)?;
    let parent_id = u64::try_from(hexadecimal(fields.next()?, 16)?).ok()?;
    let flags = u8::try_from(hexadecimal(fields.next()?, 2)?).ok()?;
    let whole = match version {
        0 => later.is_empty(),
        0xff => false,
        _ => later.is_empty() || later.starts_with('-'),
    };
    let valid = whole && fields.next().is_none() && trace_id != 0 && parent_id != 0;
    valid.then_some((trace_id, flags & SAMPLED != 0))
}

/// Reads so many digits, of which the letters are in lower case.
fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    u128::from_str_radix(text, 16).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::HeaderValue};

    use super::{TRACEPARENT, Traces};

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    fn response(sent: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(TRACEPARENT, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let trace = Traces::new().span(&headers)?;
        assert_eq!(trace.id(), TRACE);
        Some(trace.response().unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_valid_traceparent_is_taken_up_under_a_new_span() {
        for (sent, flags) in [
            (format!("00-{TRACE}-{PARENT}-01"), "01"),
            (format!("00-{TRACE}-{PARENT}-00"), "00"),
            (format!("00-{TRACE}-{PARENT}-ff"), "01"),
            (format!("00-{TRACE}-{PARENT}-02"), "00"),
            // Of a later version, the beginning is read.
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
    fn what_is_not_valid_is_as_if_it_were_not_there() {
        let zeros = "0".repeat(32);
        let upper = TRACE.to_uppercase();
        for sent in [
            String::new(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}-0g"),
            format!("00-{TRACE}-{PARENT}-01-"),
            format!("00-{TRACE}-{PARENT}-01-extra"),
            format!("00-{TRACE}-{PARENT}-01 "),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("01-{TRACE}-{PARENT}-01extra"),
            format!("0-{TRACE}-{PARENT}-001"),
            format!("00-{upper}-{PARENT}-01"),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00_{TRACE}_{PARENT}_01"),
            format!("00-{}-{PARENT}0-01", &TRACE[1..]),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
            format!("00-{TRACE}-{PARENT}-0é"),
        ] {
            assert_eq!(response(&[&sent]), None, "{sent}");
        }
        let good = format!("00-{TRACE}-{PARENT}-01");
        assert_eq!(response(&[&good, &good]), None, "two are none");
        assert_eq!(response(&[]), None);
    }
}
