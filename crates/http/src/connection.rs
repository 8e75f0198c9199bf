//! One connection: which HTTP it speaks, and for how long.

mod activity;
mod drain;
mod head_deadline;
mod heads;
mod http1;
mod http2;
mod linger;
mod sniff;
mod transport;

use std::sync::Arc;

use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};

pub(crate) use self::drain::{Drain, DrainSignal};
use self::sniff::Protocol;
use crate::state::State;

/// The largest head of a request, in bytes, in either version of HTTP.
const MAX_HEAD: u32 = 64 * 1024;

/// Serves the requests of one connection until its client, its idleness or the drain ends it. Until
/// then the connection keeps its `_place` among those that are served at once.
pub(crate) async fn serve(
    stream: TcpStream,
    state: Arc<State>,
    drain: Drain,
    _place: OwnedSemaphorePermit,
) {
    // Without this a small answer may wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let first_byte = state.settings.limits.header_timeout;
    let protocol = tokio::select! {
        protocol = sniff::protocol(&stream, first_byte) => protocol,
        () = drain.last_call() => return,
    };
    match protocol {
        // Each in a box of its own size: most connections are idle, and there may be many.
        Some(Protocol::Http1) => Box::pin(http1::serve(stream, state, drain)).await,
        Some(Protocol::Http2) => Box::pin(http2::serve(stream, state, drain)).await,
        None => (),
    }
}
