//! HTTP/2, by h2.
//!
//! The server of hyper is not used, because it never sends `100 Continue` over HTTP/2 and has no write timeout for a
//! stream.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::OptionFuture};
use h2::{
    RecvStream, SendStream,
    server::{Builder, Connection, SendResponse},
};
use hyper::{
    Request, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_LENGTH, DATE, EXPECT, HeaderValue},
};
use tokio::{sync::oneshot, time::timeout};

use super::{
    activity::{Activity, InFlightRequest, MAX_HEAD, Reason},
    ending::discard,
    stream::Stream,
    waiting::WaitingBody,
};
use crate::{
    answer::answer,
    request::{Peer, body::RequestBody},
    response::{Response, http_date},
    state::State,
};

/// The largest number of concurrent requests of one connection.
const MAX_STREAMS: u32 = 128;
/// The flow-control window of a stream and of a connection, in bytes: the smallest window that a connection can have
/// (RFC 9113, section 6.9.2). It is small because unread bytes do not count towards the memory for request bodies.
const WINDOW: u32 = 65_535;
/// The idle timeout of a connection after GOAWAY. Clients send no further request after they have read GOAWAY.
const GOAWAY_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves a connection. `stream` begins with the preface.
pub(super) async fn serve(stream: Stream, activity: Arc<Activity>, peer: Peer, state: Arc<State>) {
    let handshake = Builder::new()
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(stream);
    let limit = state.settings.limits.write_timeout;
    let Ok(Ok(mut connection)) = timeout(limit, handshake).await else { return };

    let mut reasons = activity.reasons(&state.drain);
    let reason = tokio::select! {
        () = serve_requests(&mut connection, &state, peer, &activity) => return,
        reason = reasons.next() => reason,
    };
    if reason == Some(Reason::Stalled) {
        return;
    }
    // A request that the client has sent before it reads GOAWAY is answered like any other.
    connection.graceful_shutdown();
    activity.expect_end(GOAWAY_TIMEOUT);
    tokio::select! {
        () = serve_requests(&mut connection, &state, peer, &activity) => (),
        _ = activity.wait_until_inactive() => (),
    }
}

/// Serves requests, each in a task of its own, until the connection has ended.
async fn serve_requests(
    connection: &mut Connection<Stream, Bytes>,
    state: &Arc<State>,
    peer: Peer,
    activity: &Arc<Activity>,
) {
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let Some(memory) = activity.memory.try_begin() else {
            // The client may send the request again (RFC 9113, section 8.7).
            respond.send_reset(h2::Reason::REFUSED_STREAM);
            continue;
        };
        let in_flight = activity.begin_request();
        tokio::spawn(respond_to(request, respond, Arc::clone(state), peer, in_flight, memory));
    }
}

/// Answers one request, unless the client resets its stream.
async fn respond_to(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    state: Arc<State>,
    peer: Peer,
    in_flight: InFlightRequest,
    memory: WaitingBody,
) {
    let (mut head, stream) = request.into_parts();
    let is_wanted = AtomicBool::new(false);
    let length =
        head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let expected = head.headers.get(EXPECT).map(HeaderValue::as_bytes);
    let waits = expected.is_some_and(|it| it.eq_ignore_ascii_case(b"100-continue"));
    let mut incoming = Incoming { stream, length, waits, is_wanted: &is_wanted };
    let mut body = RequestBody::new(&mut incoming, &state.body_memory);
    let response = {
        let answer = pin!(answer(&state, peer, &mut head, &mut body));
        tokio::select! {
            biased;
            response = answer => response,
            _ = poll_fn(|cx| {
                if is_wanted.swap(false, Ordering::Relaxed) {
                    let mut proceed = hyper::Response::new(());
                    *proceed.status_mut() = StatusCode::CONTINUE;
                    // An error means that the stream has ended, which `poll_reset` reports.
                    let _ = respond.send_informational(proceed);
                }
                respond.poll_reset(cx)
            }) => return,
        }
    };
    let ended = body.has_ended();
    drop((body, head));

    // Discards the rest of the body beside the response, because an unread body occupies the connection's window.
    let rest = OptionFuture::from((!ended).then(|| discard(incoming)));
    tokio::join!(send(response, respond, &state, in_flight, memory), rest);
}

/// Sends a response as fast as the client reads it. Resets a stream whose client reads nothing for too long. The
/// request is in flight until the body is written.
async fn send(
    response: Response,
    mut respond: SendResponse<Bytes>,
    state: &State,
    mut in_flight: InFlightRequest,
    mut memory: WaitingBody,
) {
    let (mut head, mut body) = response.into_parts();
    head.headers.insert(DATE, http_date(state.ports.clock.now()));
    let sent = respond.send_response(hyper::Response::from_parts(head, ()), body.is_empty());
    // An error means that the client has reset this stream.
    let Ok(mut stream) = sent else { return };
    if !body.is_empty() {
        in_flight.begin_answer();
        memory.count(body.len());
    }
    let limit = state.settings.limits.write_timeout;
    while !body.is_empty() {
        let max = in_flight.next_piece().min(body.len());
        let room = tokio::select! {
            biased;
            room = wait_for_windows(&mut stream, max) => room,
            () = memory.stalled(limit) => None,
        };
        let Some(bytes) = room else {
            return stream.send_reset(h2::Reason::CANCEL);
        };
        let (when_dropped, written) = oneshot::channel::<Infallible>();
        let piece = Piece(body.split_to(bytes), when_dropped);
        if stream.send_data(Bytes::from_owner(piece), body.is_empty()).is_err() {
            return;
        }
        tokio::select! {
            biased;
            // h2 drops the piece when it is written.
            _ = written => (),
            // The client's window has room for this piece, but a piece of every other stream may come first. The
            // connection has a deadline of its own.
            () = memory.stalled(limit * MAX_STREAMS) => return stream.send_reset(h2::Reason::CANCEL),
        }
        in_flight.activity.note_written(bytes);
        memory.note_progress();
    }
}

/// Waits for the client's windows. Returns the number of bytes that have room, at most `max`, or `None` if the stream
/// has ended.
async fn wait_for_windows(stream: &mut SendStream<Bytes>, max: usize) -> Option<usize> {
    stream.reserve_capacity(max);
    while stream.capacity() == 0 {
        poll_fn(|cx| stream.poll_capacity(cx)).await?.ok()?;
    }
    Some(max.min(stream.capacity()))
}

/// A part of a body, with a channel that is closed when the part is dropped.
struct Piece(
    Bytes,
    #[expect(dead_code, reason = "dropped with the part")] oneshot::Sender<Infallible>,
);

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The body of a request, as h2 receives it.
struct Incoming<'w> {
    stream: RecvStream,
    /// The `Content-Length`, if there is one. h2 resets a stream whose body has another length.
    length: Option<u64>,
    /// `true` if the client waits for `100 Continue` before it sends the body.
    waits: bool,
    /// Set when the body is polled while the client waits.
    is_wanted: &'w AtomicBool,
}

impl Body for Incoming<'_> {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let polled = self.stream.poll_data(cx);
        if polled.is_pending() && self.waits {
            self.waits = false;
            self.is_wanted.store(true, Ordering::Relaxed);
        }
        Poll::Ready(ready!(polled).map(|data| {
            let data = data?;
            self.stream.flow_control().release_capacity(data.len())?;
            Ok(Frame::data(data))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
