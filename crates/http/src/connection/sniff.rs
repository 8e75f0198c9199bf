//! Which version of HTTP a connection begins with.

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::{Instant, timeout_at},
};

/// What a client with prior knowledge of HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Reads the first bytes, and gives them back for whoever serves the connection; `None` if there were
/// none until `deadline`, or the client has gone.
///
/// A part of the preface that stays alone until then counts as HTTP/1.1, which has the means to refuse
/// it.
pub(super) async fn sniff<S>(stream: &mut S, deadline: Instant) -> Option<(Protocol, Bytes)>
where
    S: AsyncRead + Unpin,
{
    let mut bytes = [0; PREFACE.len()];
    let mut length = 0;
    while PREFACE.starts_with(&bytes[..length]) && length < PREFACE.len() {
        match timeout_at(deadline, stream.read(&mut bytes[length..])).await {
            Ok(Ok(arrived @ 1..)) => length += arrived,
            Ok(_) | Err(_) => break,
        }
    }
    let protocol = if &bytes == PREFACE { Protocol::Http2 } else { Protocol::Http1 };
    (length > 0).then(|| (protocol, Bytes::copy_from_slice(&bytes[..length])))
}
