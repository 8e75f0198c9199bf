//! The metrics listener: serves `/metrics`, `/livez` and `/readyz` over plain HTTP/1.1 to a monitoring system.
//!
//! The listener needs no key, so it belongs on an address that only the monitoring system reaches. It runs until the drain
//! has ended.

use std::{collections::BTreeMap, convert::Infallible, future, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use hyper::{
    Method, Request, StatusCode,
    body::Incoming,
    header::{CACHE_CONTROL, HeaderValue},
    server::conn::http1::Builder,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use petstore_domain::{KeyLabel, NamedKey};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::listener::{accept_with_retry, serve_all};
use crate::{
    handlers::public,
    observe::{
        metrics::{MAX_NAMES, Metrics},
        samples::{Sample, SampleSource},
    },
    response::{
        self, Response,
        error::{ApiError, ErrorCode},
    },
    state::State,
};

/// The largest number of open connections. Further connections wait in the accept queue. A monitoring system needs one
/// or two.
pub(super) const MAX_CONNECTIONS: usize = 32;
/// The time limit for reads of the store. Prometheus waits for 10 s.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for the next request head, from the end of the previous request. Usual scrape intervals are 15 s to 60 s.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(90);
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// The state of the metrics listener.
pub(super) struct Monitor {
    pub(super) state: Arc<State>,
    pub(super) metrics: Arc<Metrics>,
    /// Returns samples of the store and of the process.
    pub(super) samples: SampleSource,
}

impl Monitor {
    /// Serves the connections of `listener` until it is dropped.
    pub(super) async fn serve(self, listener: TcpListener) -> Infallible {
        let monitor = Arc::new(self);
        let accepted = stream::repeat(()).then(|()| accept_with_retry(|| listener.accept()));
        serve_all(&mut JoinSet::new(), MAX_CONNECTIONS, accepted, |(stream, _)| {
            let monitor = Arc::clone(&monitor);
            async move { monitor.serve_one(stream).await }
        })
        .await;
        // The stream of connections never ends.
        future::pending().await
    }

    async fn serve_one(&self, stream: TcpStream) {
        let service = service_fn(async |request: Request<Incoming>| {
            Ok::<_, Infallible>(self.answer(request.method(), request.uri().path()).await)
        });
        // An error concerns only this connection.
        let _ = Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    pub(super) async fn answer(&self, method: &Method, path: &str) -> Response {
        let answer = self.respond(method, path).await;
        let mut response = answer.unwrap_or_else(ApiError::into_response);
        response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
        response
    }

    async fn respond(&self, method: &Method, path: &str) -> Result<Response, ApiError> {
        let is_read = [Method::GET, Method::HEAD].contains(method);
        match path {
            "/livez" | "/readyz" | "/metrics" if !is_read => {
                Err(ApiError::method_not_allowed("GET, HEAD"))
            }
            "/livez" => Ok(public::livez()),
            "/readyz" => in_time(public::readyz(&self.state)).await,
            "/metrics" => {
                let text = self.metrics.to_text(self.samples().await);
                let text = text.map_err(ApiError::internal)?;
                Ok(response::with_body(StatusCode::OK, TEXT, text))
            }
            _ => Err(ApiError::new(
                ErrorCode::RouteNotFound,
                "this address serves only /metrics, /livez and /readyz",
            )),
        }
    }

    /// Returns the samples of this scrape. Samples of keys are omitted if the keys cannot be read.
    async fn samples(&self) -> Vec<Sample> {
        let State { ports, page_cache, .. } = &*self.state;
        let (ready, live) = tokio::join!(
            in_time(public::readyz(&self.state)),
            in_time(async { Ok(ports.authenticator.live_keys().await?) })
        );
        let (pages, bytes) = (page_cache.len() as u64, page_cache.bytes());
        let mut samples = (self.samples)();
        samples.extend([
            Sample::gauge("petstore_ready", "Whether /readyz is 200.", ready.is_ok().into()),
            Sample::gauge("petstore_page_cache_pages", "Pages and animals in the cache.", pages),
            Sample::gauge(
                "petstore_page_cache_bytes",
                "Memory of the pages and animals in the cache.",
                bytes,
            ),
        ]);
        if let Ok(count) = live {
            let help = "Live API keys in the store.";
            samples.push(Sample::gauge("petstore_live_keys", help, count as u64));
            let keys = ports.authenticator.named_keys();
            // Creates the counters with value 0, so that Prometheus sees the first request as an increase.
            for NamedKey { label, .. } in &keys {
                self.metrics.deprecated.series(label.as_str());
                if let KeyLabel::Stored(name) = label {
                    self.metrics.revoked.series(name.as_str());
                }
            }
            samples.extend(expiries(&keys));
        }
        samples
    }
}

/// Returns the expiry of the keys of each name: the [`MAX_NAMES`] earliest ones.
fn expiries(keys: &[NamedKey]) -> impl Iterator<Item = Sample> {
    // Two keys have one name while a key is replaced; the later entry is the newer key.
    let ends: BTreeMap<_, _> =
        keys.iter().map(|NamedKey { label, expires_at }| (label.as_str(), *expires_at)).collect();
    let ending = ends.into_iter().filter_map(|(name, end)| Some((end?.0 / 1000, name)));
    let mut ending: Vec<_> = ending.collect();
    ending.sort_unstable();
    let (name, help) = (
        "petstore_key_expiry_timestamp_seconds",
        "When the newest live API key of a name expires, in seconds since 1970.",
    );
    ending.into_iter().take(MAX_NAMES).map(move |(seconds, key)| {
        Sample::gauge(name, help, u64::try_from(seconds).unwrap_or(0)).with_label("key", key)
    })
}

async fn in_time<T>(read: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    let late = |_| Err(ApiError::unavailable("the store did not answer in time"));
    timeout(STORE_TIMEOUT, read).await.unwrap_or_else(late)
}
