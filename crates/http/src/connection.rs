//! One connection, over any stream: TLS, if it is inside, then which version of HTTP it speaks, and who serves
//! that until the client, a limit or the drain ends it.
//!
//! hyper-util's `auto` has no deadline for finding out the version, and does not give the stream back, so that the last
//! answer could be lost.

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
use crate::{answer::plain_http, observe::handshakes, request::Peer, state::State};

/// The first bytes of a client with prior knowledge of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first byte of a handshake of TLS (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;

/// Serves the requests of one connection from `peer`. With an acceptor, HTTP is inside TLS. The handshake and
/// the first head have one deadline together.
pub(crate) async fn serve(
    io: Box<dyn Io>,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    state: Arc<State>,
) {
    let (accepted, limits) = (Instant::now(), state.settings.limits);
    let deadline = accepted + limits.header_timeout;
    // Each in a box of its own size: most connections are idle, and there may be many.
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
    let stream = Stream::new(io, first_bytes, (!is_http2).then(|| activity.clone()));
    if is_http2 {
        Box::pin(http2::serve(stream, activity, peer, state)).await;
    } else {
        Box::pin(http1::serve(stream, activity, peer, &state)).await;
    }
}

/// Returns the stream inside TLS; `None`, which the observer is shown, if there is none at `deadline`, or the client
/// speaks something else. Plain HTTP gets an answer.
async fn handshake(
    io: Box<dyn Io>,
    acceptor: &TlsAcceptor,
    deadline: Instant,
    peer: Peer,
    state: &State,
) -> Option<Box<dyn Io>> {
    let failed = |reason, error: &dyn Display| {
        state.observer.handshake_failed(peer, reason, error);
        None
    };
    // So small that it holds the first bytes alone.
    let mut io = BufReader::with_capacity(PREFACE.len(), io);
    if let Ok(Ok([first, ..])) = timeout_at(deadline, io.fill_buf()).await
        && *first != TLS_HANDSHAKE
    {
        linger(&mut io, &http1::encode(plain_http(state)).await).await;
        return failed(handshakes::NOT_TLS, &"its first byte begins no handshake");
    }
    match timeout_at(deadline, acceptor.accept(io)).await {
        Ok(Ok(stream)) => Some(Box::new(stream)),
        Ok(Err(error)) => failed(handshakes::reason(&error), &error),
        Err(late) => failed(handshakes::TIMEOUT, &late),
    }
}

/// Reads until it is known whether a connection begins with the preface of HTTP/2. Part of a preface that stays
/// alone until `deadline` counts as HTTP/1.1, which has the means to refuse it.
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
