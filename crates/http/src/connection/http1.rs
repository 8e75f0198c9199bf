//! HTTP/1.0 and HTTP/1.1.

use std::{
    convert::Infallible,
    pin,
    sync::atomic::{AtomicBool, Ordering},
};

use hyper::{Request, body::Incoming, server::conn::http1::Builder, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::{
    drain::Drain, in_flight::InFlight, late_head, limits::MAX_HEAD, linger::linger, stream::Stream,
};
use crate::{
    answer::{answer, late_head, note_unreadable_head},
    body::RequestBody,
    peer::Peer,
    response::Response,
    state::State,
};

/// Serves a connection, whose requests `in_flight` counts.
pub(super) async fn serve<S>(
    stream: Stream<S>,
    in_flight: InFlight,
    peer: Peer,
    state: &State,
    drain: Drain,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let unread = AtomicBool::new(false);
    let service = service_fn(|request| respond(state, peer, &in_flight, &unread, request));
    let mut connection = Builder::new()
        // Its timer would count the idle time and the time for a head as one.
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD as usize)
        .max_buf_size(MAX_HEAD as usize)
        // A client may end its own direction and still wait for its answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let idle = state.settings.limits.idle_timeout;
    let ended = tokio::select! {
        biased;
        ended = &mut connection => Some(ended),
        _ = in_flight.wait_until_inactive(idle) => None,
        () = drain.last_call() => {
            pin::Pin::new(&mut connection).graceful_shutdown();
            tokio::select! {
                biased;
                ended = &mut connection => Some(ended),
                _ = in_flight.wait_until_inactive(idle) => None,
            }
        }
    };

    let parts = connection.into_parts();
    let mut stream = parts.io.into_inner();
    let still_sending = match ended {
        Some(Ok(())) => !parts.read_buf.is_empty() || stream.has_unread() || unread.into_inner(),
        None => {
            // An idle client expects to be left without a word, one in mid-request does not.
            let begun = parts.read_buf.iter().any(|byte| !b"\r\n".contains(byte));
            if begun {
                let refusal = late_head::encode(late_head(state, peer)).await;
                let _ = stream.write_all(&refusal).await;
            }
            begun
        }
        Some(Err(error)) => {
            if error.is_parse() {
                note_unreadable_head(state, peer, error.is_parse_too_large());
            }
            error.is_parse()
        }
    };
    if still_sending {
        linger(&mut stream).await;
    }
}

/// The answer to one request; `unread` is set if the client may still be sending its body.
async fn respond(
    state: &State,
    peer: Peer,
    in_flight: &InFlight,
    unread: &AtomicBool,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let _counted = in_flight.begin();
    in_flight.give_up_head();
    let (mut head, mut body) = request.into_parts();
    let mut body = RequestBody::new(&mut body, &state.body_memory);
    let response = answer(state, peer, &mut head, &mut body).await;
    if !body.has_ended() {
        unread.store(true, Ordering::Relaxed);
    }
    Ok(response)
}
