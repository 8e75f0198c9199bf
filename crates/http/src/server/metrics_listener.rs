//! The listener of the metrics: plain HTTP/1.1 for a monitoring system, beside the one of clients.
//!
//! It serves `/metrics`, `/livez` and `/readyz`, which says of a service with a next store whether that can be reached
//! too, and needs no key: it is for an address that only the monitoring system reaches. It is there until the drain has ended.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use hyper::{
    Method, Request, StatusCode,
    body::Incoming,
    header::{CACHE_CONTROL, HeaderValue},
    server::conn::http1::Builder,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::listener::accept_next;
use crate::{
    handlers::public,
    observe::metrics::{Figure, FigureKind, Figures, Metrics},
    response::{
        self, Response,
        error::{ApiError, ErrorCode},
    },
    state::State,
};

/// Connections at a time; one more waits to be accepted. A monitoring system needs one or two.
pub(super) const MAX_CONNECTIONS: usize = 32;
/// How long the store may take for an answer. Prometheus waits for 10 s.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// Until the head of a request has arrived, and how long a connection may idle: longer than the usual
/// intervals of 15 s to 60 s between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(90);
const NEXT_REACHABLE: &str = r#"{"status":"ready","nextStore":"reachable"}"#;
const NEXT_UNREACHABLE: &str = r#"{"status":"ready","nextStore":"unreachable"}"#;
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// What the metrics listener says besides what is counted.
#[derive(Clone)]
pub struct Monitored {
    /// The figures of the store.
    pub figures: Figures,
    /// Whether the next store can be reached, if there is to be one. It must not wait.
    pub next_store: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Monitored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitored").finish_non_exhaustive()
    }
}

/// Serves what `metrics` counts, and what is `monitored`, until it is dropped.
pub(super) async fn serve_metrics(
    listener: TcpListener,
    state: Arc<State>,
    metrics: Arc<Metrics>,
    monitored: Monitored,
) -> Infallible {
    let monitored = Arc::new(monitored);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        let (stream, _) = accept_next(|| listener.accept()).await;
        let (state, metrics) = (Arc::clone(&state), Arc::clone(&metrics));
        let monitored = Arc::clone(&monitored);
        connections.spawn(async move {
            serve_one(stream, &state, &metrics, &monitored).await;
        });
    }
}

async fn serve_one(stream: TcpStream, state: &State, metrics: &Metrics, monitored: &Monitored) {
    let service = service_fn(async |request: Request<Incoming>| {
        let answer = respond(state, metrics, monitored, request.method(), request.uri().path());
        let mut response = answer.await.unwrap_or_else(ApiError::into_response);
        response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
        Ok::<_, Infallible>(response)
    });
    // An error concerns this connection alone, and its client knows of it.
    let _ = Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(
    state: &State,
    metrics: &Metrics,
    monitored: &Monitored,
    method: &Method,
    path: &str,
) -> Result<Response, ApiError> {
    if !["/metrics", "/livez", "/readyz"].contains(&path) {
        return Err(ApiError::new(
            ErrorCode::RouteNotFound,
            "here are /metrics, /livez and /readyz; the service has another address",
        ));
    }
    if ![Method::GET, Method::HEAD].contains(method) {
        return Err(ApiError::method_not_allowed("GET, HEAD"));
    }
    match path {
        "/livez" => Ok(public::livez()),
        "/readyz" => {
            let ready = in_time(public::readyz(state)).await?;
            Ok(monitored.next_store.as_ref().map_or(ready, |is_reachable| {
                let text = if is_reachable() { NEXT_REACHABLE } else { NEXT_UNREACHABLE };
                response::json(StatusCode::OK, text)
            }))
        }
        _ => {
            let mut all = (monitored.figures)();
            all.extend(own_figures(state).await);
            let text = metrics.to_text(&all).map_err(ApiError::internal)?;
            Ok(response::with_body(StatusCode::OK, TEXT, text))
        }
    }
}

/// Returns what is not counted as it happens. The number of keys is left out while they cannot be read.
async fn own_figures(state: &State) -> Vec<Figure> {
    let gauge = |name, help, value| Figure { name, help, kind: FigureKind::Gauge, value };
    let live = in_time(async { Ok(state.ports.authenticator.live_keys().await?) }).await;
    let live = live.map(|count| {
        gauge("petstore_live_keys", "API keys in the store that are live.", count as u64)
    });
    let pages = state.page_cache.len() as u64;
    let bytes = state.page_cache.bytes();
    let mut figures = vec![
        gauge("petstore_page_cache_pages", "Pages and animals in the cache.", pages),
        gauge("petstore_page_cache_bytes", "Memory that what is in the cache takes.", bytes),
    ];
    figures.extend(live);
    figures
}

async fn in_time<T>(read: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    let late = |_| Err(ApiError::unavailable("the store takes too long"));
    timeout(STORE_TIMEOUT, read).await.unwrap_or_else(late)
}
