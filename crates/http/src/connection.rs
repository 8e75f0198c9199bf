//! One connection, over any stream: which version of HTTP it speaks, and who serves it.

pub(crate) mod drain;
mod head_buffer;
mod http1;
mod http2;
mod in_flight;
mod late_head;
mod limits;
mod linger;
pub(crate) mod oversized_heads;
mod pace;
mod sniff;
mod stream;
mod tls;

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tokio_rustls::TlsAcceptor;

use self::{
    drain::Drain,
    in_flight::InFlight,
    sniff::{Protocol, sniff},
    stream::Stream,
};
use crate::{peer::Peer, state::State};

/// Serves the requests of one connection from `peer` until its client, its idleness or the drain ends
/// it. With an acceptor, HTTP is inside TLS.
pub(crate) async fn serve<S>(
    io: S,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    state: Arc<State>,
    drain: Drain,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let accepted = Instant::now();
    match tls {
        None => serve_http(io, peer, accepted, state, drain).await,
        // In a box of its own size, as below.
        Some(acceptor) => Box::pin(serve_tls(io, peer, &acceptor, accepted, state, drain)).await,
    }
}

async fn serve_tls<S>(
    io: S,
    peer: Peer,
    acceptor: &TlsAcceptor,
    accepted: Instant,
    state: Arc<State>,
    drain: Drain,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let deadline = accepted + state.settings.limits.header_timeout;
    let stream = tokio::select! {
        stream = tls::handshake(io, acceptor, deadline) => stream,
        () = drain.last_call() => return,
    };
    if let Some(stream) = stream {
        serve_http(stream, peer, accepted, state, drain).await;
    }
}

/// Serves what a client sends on `io`, of which the first request has one deadline from `accepted`.
async fn serve_http<S>(mut io: S, peer: Peer, accepted: Instant, state: Arc<State>, drain: Drain)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = state.settings.limits;
    let sniffed = tokio::select! {
        sniffed = sniff(&mut io, accepted + limits.header_timeout) => sniffed,
        () = drain.last_call() => return,
    };
    let Some((protocol, first_bytes)) = sniffed else { return };
    let in_flight = InFlight::new(accepted, limits);
    let stream = Stream::new(io, first_bytes, limits.write_timeout, in_flight.clone());
    // Each in a box of its own size: most connections are idle, and there may be many.
    match protocol {
        Protocol::Http1 => Box::pin(http1::serve(stream, in_flight, peer, &state, drain)).await,
        Protocol::Http2 => Box::pin(http2::serve(stream, in_flight, peer, state, drain)).await,
    }
}

#[cfg(test)]
mod tests;
