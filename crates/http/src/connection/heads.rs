//! The heads of an HTTP/1 connection as they came over the wire.
//!
//! hyper drops the `Content-Length` of a request that also has a `Transfer-Encoding`, so that
//! nobody behind it can refuse the request, as is right where a proxy before it may have read the
//! other of the two (RFC 9112, section 6.3). This record keeps the bytes of the heads that hyper
//! has not handed over yet, and little else: bodies are passed over by their announced length.

use memchr::memchr_iter;

/// Beyond this many bytes of heads and bodies not yet handed over, the record is given up. hyper
/// refuses a head long before, so only a client that pipelines a lot gets here.
const MAX_RECORD: usize = 4 * super::MAX_HEAD as usize;

/// An idle connection keeps no more memory than this for its next head.
const KEPT_CAPACITY: usize = 256;

/// How the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    After(u64),
    /// Chunked: where it ends is not known here.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct Heads {
    /// Begins where the next head begins.
    bytes: Vec<u8>,
    /// Bytes of a body still to come before the next head.
    body_left: u64,
    /// The place of the next head is no longer known.
    lost: bool,
}

impl Heads {
    /// Takes note of bytes that have arrived.
    pub(super) fn feed(&mut self, arrived: &[u8]) {
        if self.lost {
            return;
        }
        let body = arrived.len().min(usize::try_from(self.body_left).unwrap_or(usize::MAX));
        self.body_left -= body as u64;
        self.bytes.extend_from_slice(&arrived[body..]);
        if self.bytes.len() > MAX_RECORD {
            self.lose();
        }
    }

    /// Moves on behind the head that hyper has just handed over, and its body. `true` if that
    /// head, which has a `Transfer-Encoding` if `body` is unknown, has a `Content-Length` too, or
    /// if that can no longer be told.
    pub(super) fn hand_over(&mut self, body: BodyEnd) -> bool {
        let head = if self.lost { None } else { end_of_head(&self.bytes) };
        match (head, body) {
            (Some(end), BodyEnd::After(length)) => {
                self.pass_over(end, length);
                false
            }
            (Some(end), BodyEnd::Unknown) => {
                let conflicting = has_content_length(&self.bytes[..end]);
                self.lose();
                conflicting
            }
            (None, body) => {
                self.lose();
                body == BodyEnd::Unknown
            }
        }
    }

    /// Whether every byte that arrived belongs to a request handed over, and its body is complete.
    pub(super) fn at_rest(&self) -> bool {
        !self.lost && self.body_left == 0 && self.bytes.is_empty()
    }

    /// Whether a part of a head has arrived.
    pub(super) fn has_begun(&self) -> bool {
        !self.lost && self.bytes.iter().any(|byte| !b"\r\n".contains(byte))
    }

    fn pass_over(&mut self, head: usize, body: u64) {
        let arrived = self.bytes.len() - head;
        let passed = arrived.min(usize::try_from(body).unwrap_or(usize::MAX));
        self.body_left = body - passed as u64;
        if arrived == passed {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_CAPACITY);
        } else {
            self.bytes.drain(..head + passed);
        }
    }

    fn lose(&mut self) {
        self.lost = true;
        self.bytes = Vec::new();
    }
}

/// Where the first head ends: behind its first empty line. Empty lines before it do not count
/// (RFC 9112, section 2.2), and a line may end without a carriage return, as hyper takes it.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().position(|byte| !b"\r\n".contains(byte))?;
    let mut line = start;
    for end in memchr_iter(b'\n', &bytes[start..]) {
        let next = start + end + 1;
        if matches!(&bytes[line..next], b"\n" | b"\r\n") {
            return Some(next);
        }
        line = next;
    }
    None
}

fn has_content_length(head: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length";
    head.split(|byte| *byte == b'\n').any(|line| {
        line.iter()
            .position(|byte| *byte == b':')
            .is_some_and(|colon| line[..colon].trim_ascii().eq_ignore_ascii_case(NAME))
    })
}

#[cfg(test)]
mod tests {
    use super::{BodyEnd, Heads, MAX_RECORD};

    const CHUNKED: &[u8] = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const BOTH: &[u8] =
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-LENGTH: 5\r\n\r\n";

    fn fed(pieces: &[&[u8]]) -> Heads {
        let mut heads = Heads::default();
        for piece in pieces {
            heads.feed(piece);
        }
        heads
    }

    #[test]
    fn both_lengths_are_found_wherever_the_head_is_cut() {
        for cut in 0..BOTH.len() {
            assert!(fed(&[&BOTH[..cut], &BOTH[cut..]]).hand_over(BodyEnd::Unknown), "{cut}");
            let cut = cut.min(CHUNKED.len());
            assert!(!fed(&[&CHUNKED[..cut], &CHUNKED[cut..]]).hand_over(BodyEnd::Unknown), "{cut}");
        }
    }

    #[test]
    fn bodies_and_other_heads_are_no_part_of_a_head() {
        let mut heads = fed(&[b"\r\nPOST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n\nconten"]);
        assert!(!heads.hand_over(BodyEnd::After(17)));
        assert!(!heads.at_rest());
        heads.feed(b"t-length: ");
        assert!(heads.at_rest());
        heads.feed(b"GET / HTTP/1.1\nA: b\n\n");
        heads.feed(CHUNKED);
        heads.feed(b"5\r\n\ncontent-length: 5\r\n");
        assert!(!heads.hand_over(BodyEnd::After(0)));
        assert!(heads.has_begun());
        assert!(!heads.hand_over(BodyEnd::Unknown));
        assert!(!heads.at_rest());
    }

    #[test]
    fn a_pipelined_head_after_a_body_is_found() {
        let mut heads = fed(&[b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", BOTH]);
        assert!(!heads.hand_over(BodyEnd::After(3)));
        assert!(heads.hand_over(BodyEnd::Unknown));
    }

    #[test]
    fn when_the_place_is_lost_an_unknown_body_counts_as_conflicting() {
        let mut heads = Heads::default();
        heads.feed(&vec![b'x'; MAX_RECORD + 1]);
        assert!(!heads.at_rest());
        heads.feed(CHUNKED);
        assert!(!heads.hand_over(BodyEnd::After(0)));
        assert!(heads.hand_over(BodyEnd::Unknown));
    }

    #[test]
    fn only_a_part_of_a_head_counts_as_begun() {
        assert!(!fed(&[]).has_begun());
        assert!(!fed(&[b"\r\n"]).has_begun());
        assert!(fed(&[b"\r\nG"]).has_begun());
    }
}
