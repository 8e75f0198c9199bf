//! Closing so that the client can read the last answer.
//!
//! A socket that is closed while bytes lie unread in it resets the connection, and the client may
//! lose an answer that it has not read yet. So the server ends its own direction first and takes,
//! for a while, what the client still sends.
//!
//! Over HTTP/2 the same goes for a stream: it is reset if its request is dropped while the client still sends, and
//! some clients lose an answer that is followed by a reset (curl 7.88 does).

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

/// The bytes that are taken at most.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The time in all, at most.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The time in which nothing arrives, at most.
const MAX_SILENCE: Duration = Duration::from_secs(1);

/// Ends the server's direction, and returns when the client has closed or a limit is reached.
pub(super) async fn linger<S>(stream: &mut S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let _ = stream.shutdown().await;
    // On the heap: a connection that does not linger must not carry it.
    let mut space = vec![0; 4096];
    let take_all = async {
        let mut taken = 0;
        while taken < MAX_BYTES {
            match timeout(MAX_SILENCE, stream.read(&mut space)).await {
                Ok(Ok(length @ 1..)) => taken += length,
                Ok(_) | Err(_) => return,
            }
        }
    };
    let _ = timeout(MAX_TIME, take_all).await;
}

/// Takes what the client still sends of a body that nobody reads, until it ends or a limit is reached.
pub(super) async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let take_all = async {
        let mut taken = 0;
        while taken < MAX_BYTES {
            match timeout(MAX_SILENCE, body.frame()).await {
                Ok(Some(Ok(frame))) => taken += frame.data_ref().map_or(0, Bytes::len),
                Ok(_) | Err(_) => return,
            }
        }
    };
    let _ = timeout(MAX_TIME, take_all).await;
}
