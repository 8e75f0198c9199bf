//! HTTP/2 with prior knowledge.

use std::{convert::Infallible, future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use hyper::{Request, Response, body::Incoming, server::conn::http2::Builder, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{
    counted_body::CountedBody,
    drain::Drain,
    head_buffer::HeadBuffer,
    in_flight::{InFlight, Inactivity},
    limits::MAX_HEAD,
    linger::discard,
    oversized_heads,
    stream::Stream,
};
use crate::{
    answer::{answer, note_unreadable_head},
    body::RequestBody,
    peer::Peer,
    state::State,
};

/// The requests of one connection at a time, at most.
const MAX_STREAMS: u32 = 128;
/// What a client may send of one body, and of all bodies of a connection, before the service has read
/// it, in bytes. It is held outside the bound of all bodies, so it is as small as the protocol lets it
/// begin with (RFC 9113, section 6.9.2).
const WINDOW: u32 = 65_535;
/// What of one response may wait for the client, in bytes: a page of 100 long names.
const MAX_SEND_BUFFER: usize = 128 * 1024;
/// How long a connection that is asked to end may take to do so.
const MAX_GOODBYE: Duration = Duration::from_secs(1);

/// Serves a connection whose preface is still to be read from `stream`.
pub(super) async fn serve<S>(stream: Stream<S>, peer: Peer, state: Arc<State>, drain: Drain)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = state.settings.limits;
    let in_flight = InFlight::new(limits.write_timeout);
    let counter = in_flight.clone();
    let stream = stream.with_whole_heads(HeadBuffer::new(Arc::clone(&state.oversized_heads)));
    let noted = Arc::clone(&state);
    let service =
        service_fn(move |request| respond(Arc::clone(&state), peer, counter.clone(), request));
    let mut connection = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(MAX_SEND_BUFFER)
        .serve_connection(TokioIo::new(stream), service);

    let inactivity = tokio::select! {
        () = run(&mut connection, &noted, peer) => return,
        inactivity = in_flight.wait_until_inactive(limits.header_timeout) => Some(inactivity),
        () = drain.last_call() => None,
    };
    if inactivity == Some(Inactivity::Stalled) {
        return;
    }
    Pin::new(&mut connection).graceful_shutdown();
    let unanswered = limits.request_timeout + limits.write_timeout;
    let goodbye = if inactivity.is_some() { MAX_GOODBYE } else { unanswered };
    let _ = timeout(goodbye, run(&mut connection, &noted, peer)).await;
}

/// Runs a connection, and shows the observer each head that h2 has refused by itself.
async fn run<C: Future + Unpin>(connection: &mut C, state: &State, peer: Peer) {
    let note = || note_unreadable_head(state, peer, true);
    poll_fn(|context| oversized_heads::poll(connection, context, note)).await;
}

async fn respond(
    state: Arc<State>,
    peer: Peer,
    in_flight: InFlight,
    request: Request<Incoming>,
) -> Result<Response<CountedBody>, Infallible> {
    let counted = in_flight.begin();
    let (head, mut incoming) = request.into_parts();
    let mut body = RequestBody::new(&mut incoming, &state.body_memory);
    let response = answer(&state, peer, &head, &mut body).await;
    let ended = body.has_ended();
    drop(body);
    if !ended {
        // The stream is open until this ends, so there are no more of these than streams.
        tokio::spawn(discard(incoming));
    }
    Ok(response.map(|body| CountedBody::new(body, counted)))
}
