//! Which version of HTTP a connection begins with.

use std::time::Duration;

use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

/// What a client with prior knowledge of HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A preface that has arrived in part is looked at again after this time.
const PARTIAL_PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Looks at the first bytes without taking them; `None` if there were none within `time`.
pub(super) async fn protocol(stream: &TcpStream, time: Duration) -> Option<Protocol> {
    let mut seen = [0; PREFACE.len()];
    let mut length = 0;
    let decided = timeout(time, async {
        loop {
            length = stream.peek(&mut seen).await.ok()?;
            match &seen[..length] {
                [] => return None,
                whole if whole == PREFACE => return Some(Protocol::Http2),
                part if PREFACE.starts_with(part) => sleep(PARTIAL_PAUSE).await,
                _ => return Some(Protocol::Http1),
            }
        }
    })
    .await;
    // Something has begun that may still become a request line; HTTP/1.1 has the means to refuse it.
    decided.unwrap_or((length > 0).then_some(Protocol::Http1))
}
