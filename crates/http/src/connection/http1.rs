//! HTTP/1.0 and HTTP/1.1, by hyper.

use std::{
    convert::Infallible,
    pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode, body::Incoming, server::conn::http1::Builder,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use super::{
    activity::{Activity, MAX_HEAD, Reason},
    ending::linger,
    stream::Stream,
};
use crate::{
    answer::{answer, late_head},
    observe::log::record,
    request::{Peer, auth::Credential, body::RequestBody},
    settings::Limits,
    state::State,
};

/// Serves the requests of one connection.
pub(super) async fn serve(stream: Stream, activity: Arc<Activity>, peer: Peer, state: &State) {
    let unread = AtomicBool::new(false);
    let service = service_fn(|request| respond(state, peer, &activity, &unread, request));
    let mut connection = Builder::new()
        // hyper's timer covers the idle time and the request head with one deadline.
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD as usize)
        .max_buf_size(MAX_HEAD as usize)
        // A client may shut down its write side and still wait for the response.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let mut reasons = activity.reasons(&state.drain);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut connection => break Ok(ended),
            Some(reason) = reasons.next() => match reason {
                Reason::LastCall => pin::Pin::new(&mut connection).graceful_shutdown(),
                Reason::LateHead | Reason::Idle | Reason::Stalled => break Err(reason),
            },
        }
    };

    let parts = connection.into_parts();
    let last_words = match ended {
        Ok(Ok(())) if !parts.read_buf.is_empty() || unread.load(Ordering::Relaxed) => String::new(),
        Ok(Err(error)) if error.is_parse() => {
            // hyper has sent the response by itself.
            let too_large = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            let status =
                if error.is_parse_too_large() { too_large } else { StatusCode::BAD_REQUEST };
            let credential = Credential::default();
            record(state, peer, None, None, &credential, Instant::now(), Ok(status));
            String::new()
        }
        // A client that has sent a part of a head gets a response. An idle client expects none.
        Err(reason @ (Reason::LateHead | Reason::Idle))
            if parts.read_buf.iter().any(|byte| !b"\r\n".contains(byte)) =>
        {
            let Limits { header_timeout, idle_timeout, .. } = state.settings.limits;
            let limit = if reason == Reason::Idle { idle_timeout } else { header_timeout };
            late_head(state, peer, limit)
        }
        Ok(_) | Err(_) => return,
    };
    linger(parts.io.into_inner(), last_words.as_bytes()).await;
}

/// Answers one request. Sets `unread` if the client may still be sending the body.
async fn respond(
    state: &State,
    peer: Peer,
    activity: &Arc<Activity>,
    unread: &AtomicBool,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut in_flight = activity.begin_request();
    let (mut head, mut body) = request.into_parts();
    let mut body = RequestBody::new(&mut body, &state.body_memory);
    let response = answer(state, peer, &mut head, &mut body).await;
    unread.store(!body.has_ended(), Ordering::Relaxed);
    in_flight.length = response.body().len();
    Ok(response.map(Full::new))
}
