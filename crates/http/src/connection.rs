//! One connection: the TLS handshake, the detection of the HTTP version, and the server of that version.
//!
//! The server `auto` of hyper-util is not used, because its detection has no deadline. It also does not return the
//! stream at the end, but an orderly close needs the stream: see [`ending`].

mod activity;
pub(crate) mod ending;
mod http1;
mod http2;
pub(crate) mod stream;
pub(crate) mod waiting;

use std::{fmt::Display, sync::Arc};

use bytes::Bytes;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsAcceptor;

use self::{
    activity::Activity,
    ending::linger,
    stream::{Io, Stream},
};
use crate::{
    observe::{
        log::handshake_failed,
        metrics::{NOT_TLS, TIMEOUT, handshake_reason},
    },
    request::Peer,
    state::State,
};

/// The preface of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The response to plain HTTP on a port for TLS.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
    this port speaks HTTPS: the URL must begin with https://\n";
/// The first byte of a TLS handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;

/// Serves the requests of one connection from `peer`, inside TLS if there is an acceptor. The handshake and the first
/// request head share one deadline.
pub(crate) async fn serve(
    io: Box<dyn Io>,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    state: Arc<State>,
) {
    let (accepted, limits) = (Instant::now(), state.settings.limits);
    let deadline = accepted + limits.header_timeout;
    // Boxed, so that the many idle connections do not reserve memory for the largest of these futures.
    let opening = Box::pin(async {
        let mut io = match tls {
            Some(acceptor) => handshake(io, &acceptor, deadline, peer, &state).await?,
            None => io,
        };
        let first_bytes = read_first_bytes(&mut io, deadline).await;
        Some((io, first_bytes)).filter(|(_, bytes)| !bytes.is_empty())
    });
    let opened = tokio::select! {
        opened = opening => opened,
        () = state.drain.last_call() => None,
    };
    let Some((io, first_bytes)) = opened else { return };
    let is_http2 = first_bytes[..] == PREFACE[..];
    let activity = Activity::new(accepted, limits, Arc::clone(&state.waiting_bodies));
    let stream = Stream::new(io, first_bytes, (!is_http2).then(|| Arc::clone(&activity)));
    if is_http2 {
        Box::pin(http2::serve(stream, activity, peer, state)).await;
    } else {
        Box::pin(http1::serve(stream, activity, peer, &state)).await;
    }
}

/// Performs the TLS handshake. Returns `None` and records the reason if the handshake fails or is not complete at
/// `deadline`. A client that does not speak TLS gets a response in plain HTTP.
async fn handshake(
    io: Box<dyn Io>,
    acceptor: &TlsAcceptor,
    deadline: Instant,
    peer: Peer,
    state: &State,
) -> Option<Box<dyn Io>> {
    let failed = |reason, error: &dyn Display| {
        handshake_failed(state, peer, reason, error);
        None
    };
    // A small buffer, because only the first byte is examined here.
    let mut io = BufReader::with_capacity(PREFACE.len(), io);
    if let Ok(Ok([first, ..])) = timeout_at(deadline, io.fill_buf()).await
        && *first != TLS_HANDSHAKE
    {
        linger(&mut io, PLAIN_HTTP).await;
        return failed(NOT_TLS, &"the client speaks plain HTTP or another protocol");
    }
    match timeout_at(deadline, acceptor.accept(io)).await {
        Ok(Ok(stream)) => Some(Box::new(stream)),
        Ok(Err(error)) => failed(handshake_reason(&error), &error),
        Err(late) => failed(TIMEOUT, &late),
    }
}

/// Reads until the bytes are the whole preface of HTTP/2 or differ from it. Returns an incomplete preface at
/// `deadline`: the HTTP/1 server refuses it as an incomplete head.
async fn read_first_bytes(io: &mut Box<dyn Io>, deadline: Instant) -> Bytes {
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
