//! One connection, over any stream: which version of HTTP it speaks, and who serves it.

pub(crate) mod drain;
mod head_timer;
mod http1;
mod http2;
mod in_flight;
mod late_head;
mod limits;
mod linger;
mod sniff;
mod stream;

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

use self::{
    drain::Drain,
    sniff::{Protocol, sniff},
    stream::Stream,
};
use crate::state::State;

/// Serves the requests of one connection until its client, its idleness or the drain ends it.
pub(crate) async fn serve<S>(mut io: S, state: Arc<State>, drain: Drain)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let accepted = Instant::now();
    let limits = state.settings.limits;
    let sniffed = tokio::select! {
        sniffed = sniff(&mut io, accepted + limits.header_timeout) => sniffed,
        () = drain.last_call() => return,
    };
    let Some((protocol, first_bytes)) = sniffed else { return };
    let stream = Stream::new(io, first_bytes, limits.write_timeout);
    // Each in a box of its own size: most connections are idle, and there may be many.
    match protocol {
        Protocol::Http1 => Box::pin(http1::serve(stream, accepted, &state, drain)).await,
        Protocol::Http2 => Box::pin(http2::serve(stream, state, drain)).await,
    }
}

#[cfg(test)]
mod tests;
