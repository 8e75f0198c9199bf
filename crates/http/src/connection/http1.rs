//! HTTP/1.0 and HTTP/1.1.

use std::{convert::Infallible, pin::Pin, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request,
    body::{Body, Incoming},
    header::{CONNECTION, HeaderValue, TRANSFER_ENCODING},
    server::conn::http1::{Builder, Connection},
    service::{HttpService, service_fn},
};
use hyper_util::rt::TokioIo;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{
    MAX_HEAD,
    drain::Drain,
    heads::BodyEnd,
    transport::{Requests, Transport},
};
use crate::{
    answer::{answer, late_head},
    framing::ConflictingLengths,
    response::Response,
    state::State,
};

type Http1<S> = Connection<TokioIo<Transport>, S>;

pub(super) async fn serve(stream: TcpStream, state: Arc<State>, drain: Drain) {
    let limits = state.settings.limits;
    let requests = Requests::default();
    let transport = Transport::new(stream, limits.write_timeout)
        .awaiting(requests.clone(), limits.header_timeout);
    let service = service_fn(|request| respond(&state, &requests, request));
    let mut connection = Builder::new()
        .header_read_timeout(None) // The transport has its own.
        .max_header_size(MAX_HEAD as usize)
        .max_buf_size(MAX_HEAD as usize)
        // A client may end its own direction and still wait for its answer.
        .half_close(true)
        .serve_connection(TokioIo::new(transport), service);
    tokio::select! {
        biased;
        _ = &mut connection => (),
        () = drain.last_call() => end_gracefully(&mut connection).await,
    }
    let mut transport = connection.into_parts().io.into_inner();
    // An idle client expects to be left without a word, one in mid-request does not.
    if transport.is_late() && requests.heads().has_begun() {
        let _ = transport.write_all(&late_head(&state)).await;
        let _ = transport.shutdown().await;
    }
}

async fn end_gracefully<S>(connection: &mut Http1<S>)
where
    S: HttpService<Incoming, ResBody = Full<Bytes>, Error = Infallible>,
{
    Pin::new(&mut *connection).graceful_shutdown();
    let _ = connection.await;
}

/// The answer to one request. What can be done at once is, so that the future has the request in it
/// once, in the form that it is used in.
fn respond<'s>(
    state: &'s State,
    requests: &'s Requests,
    mut request: Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> + 's {
    let chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let end =
        if chunked { BodyEnd::Unknown } else { BodyEnd::After(request.body().size_hint().lower()) };
    requests.begin();
    if requests.heads().hand_over(end) {
        request.extensions_mut().insert(ConflictingLengths);
    }
    let (head, mut body) = request.into_parts();
    async move {
        let mut response = answer(state, requests.alarm(), &head, &mut body).await;
        if chunked {
            // Where the next head begins is not known to `heads`, so there is none.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        requests.end();
        Ok(response)
    }
}
