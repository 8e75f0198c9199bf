//! HTTP/2 with prior knowledge.

use std::{convert::Infallible, pin::Pin, sync::Arc, time::Duration};

use hyper::{Request, Response, body::Incoming, server::conn::http2::Builder, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{net::TcpStream, time::timeout};

use super::{
    MAX_HEAD,
    activity::{Activity, CountedBody, Inactivity},
    drain::Drain,
    transport::Transport,
};
use crate::{alarm::Alarm, answer::answer, state::State};

/// The most requests of one connection at a time.
const MAX_STREAMS: u32 = 128;
/// How long a connection that is told to end may take for its last words.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) async fn serve(stream: TcpStream, state: Arc<State>, drain: Drain) {
    let limits = state.settings.limits;
    let activity = Activity::new();
    let seen = activity.clone();
    let service = service_fn(move |request| respond(Arc::clone(&state), seen.clone(), request));
    let transport = Transport::new(stream, limits.write_timeout);
    let mut connection = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .serve_connection(TokioIo::new(transport), service);

    let stalled = limits.request_timeout + limits.write_timeout;
    let ceased = activity.ceased(limits.header_timeout, stalled);
    let inactivity = tokio::select! {
        _ = &mut connection => return,
        inactivity = ceased => Some(inactivity),
        () = drain.last_call() => None,
    };
    if inactivity == Some(Inactivity::Stalled) {
        return;
    }
    Pin::new(&mut connection).graceful_shutdown();
    let last_words = if inactivity.is_some() { LAST_WORDS } else { stalled };
    let _ = timeout(last_words, connection).await;
}

async fn respond(
    state: Arc<State>,
    activity: Activity,
    request: Request<Incoming>,
) -> Result<Response<CountedBody>, Infallible> {
    let unanswered = activity.begin();
    let (head, mut body) = request.into_parts();
    let response = answer(&state, &Alarm::default(), &head, &mut body).await;
    Ok(response.map(|body| CountedBody::new(body, unanswered)))
}
