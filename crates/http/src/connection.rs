//! One connection, over any stream: TLS, if it is inside, then which version of HTTP it speaks, and who serves
//! that until the client, a limit or the drain ends it.

mod activity;
pub(crate) mod ending;
mod http1;
mod http2;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    time::{Instant, timeout_at},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use self::{activity::Activity, stream::Stream};
use crate::{request::Peer, state::State};

/// What a client with prior knowledge of HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves the requests of one connection from `peer`. With an acceptor, HTTP is inside TLS. The handshake and
/// the first head have one deadline together.
pub(crate) async fn serve<S>(io: S, peer: Peer, tls: Option<TlsAcceptor>, state: Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let accepted = Instant::now();
    let Some(acceptor) = tls else { return serve_http(io, peer, accepted, state).await };
    // In a box of its own size, as below.
    let encrypted = Box::pin(async move {
        let deadline = accepted + state.settings.limits.header_timeout;
        let stream = tokio::select! {
            stream = handshake(io, &acceptor, deadline) => stream,
            () = state.drain.last_call() => return,
        };
        if let Some(stream) = stream {
            serve_http(stream, peer, accepted, state).await;
        }
    });
    encrypted.await;
}

/// Returns the stream inside TLS; `None` if there is none at `deadline`, or the client speaks something else.
async fn handshake<S>(io: S, acceptor: &TlsAcceptor, deadline: Instant) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = timeout_at(deadline, acceptor.accept(io)).await.ok()?;
    // Anybody can cause it, as often as they like.
    stream.inspect_err(|error| tracing::debug!(%error, "a TLS handshake failed")).ok()
}

async fn serve_http<S>(mut io: S, peer: Peer, accepted: Instant, state: Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = state.settings.limits;
    let first_bytes = tokio::select! {
        bytes = read_first_bytes(&mut io, accepted + limits.header_timeout) => bytes,
        () = state.drain.last_call() => return,
    };
    if first_bytes.is_empty() {
        return;
    }
    let is_http2 = first_bytes[..] == PREFACE[..];
    let activity = Activity::new(accepted, limits);
    let stream = Stream::new(io, first_bytes, activity.clone(), is_http2);
    // Each in a box of its own size: most connections are idle, and there may be many.
    if is_http2 {
        Box::pin(http2::serve(stream, activity, peer, state)).await;
    } else {
        Box::pin(http1::serve(stream, activity, peer, &state)).await;
    }
}

/// Reads until it is known whether a connection begins with the preface of HTTP/2. Part of a preface that stays
/// alone until `deadline` counts as HTTP/1.1, which has the means to refuse it.
async fn read_first_bytes<S: AsyncRead + Unpin>(io: &mut S, deadline: Instant) -> Bytes {
    let mut bytes = [0; PREFACE.len()];
    let mut length = 0;
    while PREFACE.starts_with(&bytes[..length]) && length < PREFACE.len() {
        match timeout_at(deadline, io.read(&mut bytes[length..])).await {
            Ok(Ok(arrived @ 1..)) => length += arrived,
            Ok(_) | Err(_) => break,
        }
    }
    Bytes::copy_from_slice(&bytes[..length])
}

#[cfg(test)]
mod tests;
