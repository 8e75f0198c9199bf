//! The server: serves the connections of its listeners, then drains.

pub(crate) mod listener;

use std::{convert::Infallible, error::Error, fmt, future, pin::pin, sync::Arc};

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt as _,
    future::{BoxFuture, LocalBoxFuture},
    stream,
};
use hyper::{Request, Response};
use petstore_domain::KeyName;
use tokio::{
    net::TcpListener,
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use self::listener::{Accepted, Listener, accept_all, close};
use crate::{
    answer, connection,
    observe::{metrics::Metrics, samples::SampleSource},
    request::Peer,
    route::operations,
    settings::{Limits, Settings},
    state::{Monitor, Ports, State},
};

/// The HTTP server: the routes of the interface over [`Ports`].
pub struct Server {
    state: Arc<State>,
    tls: Option<TlsAcceptor>,
    /// One task per connection.
    connections: JoinSet<()>,
}

/// Counts requests with a revoked key. The arguments are the name of the key and the number of requests.
pub type RevokedKeyCounter = Arc<dyn Fn(&KeyName, u64) + Send + Sync>;

/// The outcome of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOutcome {
    /// Every received request was answered.
    Complete,
    /// [`Limits::shutdown_grace`] ended before all requests were answered.
    CutOff {
        /// The number of connections that were cut off.
        connections: usize,
    },
}

impl Server {
    /// Creates a server over `ports`, without metrics.
    #[must_use]
    pub fn new(ports: Ports, settings: Settings) -> Self {
        Self::with_state(State::new(ports, settings, None))
    }

    /// Creates a server with metrics, and the future that serves the metrics and `samples` on `listener`, without TLS.
    /// The future never ends: run it beside the server. Metrics need no key, so bind `listener` to an address that only
    /// the monitoring system reaches.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub fn with_metrics(
        ports: Ports,
        settings: Settings,
        listener: TcpListener,
        samples: SampleSource,
    ) -> Result<(Self, BoxFuture<'static, Infallible>), impl Error + use<>> {
        let metrics = Arc::new(Metrics::new(operations())?);
        let server = Self::with_state(State::new(ports, settings, Some(metrics.clone())));
        let monitor = Monitor { service: Arc::clone(&server.state), metrics, samples };
        let mut monitor = Self::with_state(monitor.into_state());
        let serving = async move {
            monitor.serve(accept_all(&mut [listener.into()])).await;
            // The stream of connections never ends.
            future::pending().await
        };
        Ok::<_, prometheus::Error>((server, Box::pin(serving)))
    }

    fn with_state(state: State) -> Self {
        Self { state: Arc::new(state), tls: None, connections: JoinSet::new() }
    }

    /// Returns the counter of requests with revoked keys. The counter does nothing on a server without metrics.
    #[must_use]
    pub fn revoked_key_counter(&self) -> RevokedKeyCounter {
        let metrics = self.state.metrics.clone();
        Arc::new(move |name, uses| {
            if let Some(metrics) = &metrics {
                metrics.of_key(&metrics.series.revoked, name.as_str()).inc_by(uses);
            }
        })
    }

    /// Serves TCP connections over TLS. `config` has the certificate and the ALPN protocols in the order of preference:
    /// `h2`, `http/1.1` or both. Unix sockets do not use TLS.
    #[must_use]
    pub fn with_tls(self, config: Arc<ServerConfig>) -> Self {
        Self { tls: Some(config.into()), ..self }
    }

    /// Answers one request without a connection, as if it came over a Unix socket. This is for tests and for programs
    /// with a server of their own. The timeouts of connections (header, idle, write) and the drain do not apply.
    pub async fn handle(&self, request: Request<impl Into<Bytes>>) -> Response<Bytes> {
        answer::ask(&self.state, request).await
    }

    /// Serves `listeners` until `shutdown` resolves, then drains. From then on `/readyz` is 503. After
    /// [`Limits::shutdown_delay`], the server accepts only connections that are already in an accept queue. Then it
    /// answers the received requests, for [`Limits::shutdown_grace`] at most.
    pub async fn run(
        self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = ()>,
    ) -> DrainOutcome {
        self.run_boxed(listeners, Box::pin(shutdown)).await
    }

    /// Runs the server. Boxed, so that the future is compiled in this crate. If it were compiled in the crate of the
    /// caller, each request would take about 600 more instructions.
    fn run_boxed(
        mut self,
        mut listeners: Vec<Listener>,
        shutdown: LocalBoxFuture<'_, ()>,
    ) -> LocalBoxFuture<'_, DrainOutcome> {
        Box::pin(async move {
            tokio::select! {
                () = self.serve(accept_all(&mut listeners)) => (),
                () = shutdown => (),
            }
            self.state.drain.begin();
            let Limits { shutdown_delay, shutdown_grace, .. } = self.state.settings.limits;
            let _ = timeout(shutdown_delay, self.serve(accept_all(&mut listeners))).await;
            let waiting = stream::iter(close(listeners).await);
            if timeout(shutdown_grace, self.serve(waiting)).await.is_ok() {
                return DrainOutcome::Complete;
            }
            let connections = self.connections.len();
            self.connections.shutdown().await;
            DrainOutcome::CutOff { connections }
        })
    }

    /// Serves the connections of `accepted`, each in a task of its own. Returns when `accepted` and all open
    /// connections have ended. Above the limit, further connections wait in the accept queue. Logs a panic of a
    /// connection at once.
    async fn serve(&mut self, accepted: impl Stream<Item = Accepted>) {
        let Self { state, tls, connections } = self;
        let max = state.settings.limits.max_connections.get();
        let mut accepted = pin!(accepted.fuse());
        loop {
            tokio::select! {
                Some(ended) = connections.join_next() => {
                    if let Some(error) = ended.err().filter(JoinError::is_panic) {
                        tracing::error!(%error, "a connection ended in a panic");
                    }
                }
                Some((io, peer)) = accepted.next(), if connections.len() < max => {
                    let tls = tls.clone().filter(|_| peer != Peer::Unix);
                    let state = Arc::clone(state);
                    connections.spawn(async move {
                        let _counted = state.metrics.as_ref().map(|metrics| metrics.begin_connection());
                        connection::serve(io, peer, tls, Arc::clone(&state)).await;
                    });
                }
                else => return,
            }
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
