//! The server: it serves what its listeners accept, and drains at the end.

pub(crate) mod listener;
pub(crate) mod metrics_listener;

use std::{convert::Infallible, fmt, sync::Arc};

use bytes::Bytes;
use futures_util::{
    Stream,
    future::{BoxFuture, LocalBoxFuture},
    stream,
};
use hyper::{Request, Response};
use petstore_domain::KeyName;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use self::{
    listener::{Accepted, Listener, accept_all, close, serve_all},
    metrics_listener::{Monitor, Monitored},
};
use crate::{
    answer, connection,
    observe::metrics::Metrics,
    request::Peer,
    route::{ROUTES, Route},
    settings::{Limits, Settings},
    state::{Ports, State},
};

/// The HTTP server.
pub struct Server {
    state: Arc<State>,
    tls: Option<TlsAcceptor>,
    /// A task for each connection that is served.
    connections: JoinSet<()>,
}

/// Counts requests with a revoked key, by the name of the key.
pub type RevokedKeyCounter = Arc<dyn Fn(&KeyName, u64) + Send + Sync>;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every request received was answered.
    Whole,
    /// The grace was over before that.
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

    /// Creates a server with metrics, and the future that serves them on `listener` alone, which belongs into a task
    /// beside the server. The figures of what is `monitored` are among the metrics.
    ///
    /// # Errors
    /// Two metrics have one name.
    pub fn with_metrics(
        ports: Ports,
        settings: Settings,
        listener: TcpListener,
        monitored: Monitored,
    ) -> Result<(Self, BoxFuture<'static, Infallible>), impl fmt::Display + use<>> {
        let metrics = Arc::new(Metrics::new()?);
        for (template, method, success) in ROUTES.iter().flat_map(Route::operations) {
            metrics.expect(template, method, success);
        }
        let server = Self::with_state(State::new(ports, settings, Some(metrics.clone())));
        let monitor = Monitor { state: Arc::clone(&server.state), metrics, monitored };
        Ok::<_, prometheus::Error>((server, Box::pin(monitor.serve(listener))))
    }

    fn with_state(state: State) -> Self {
        Self { state: Arc::new(state), tls: None, connections: JoinSet::new() }
    }

    /// Returns the counter of requests with revoked keys, which is called with the name of a key and the number of its
    /// requests. Without metrics it does nothing.
    #[must_use]
    pub fn revoked_key_counter(&self) -> RevokedKeyCounter {
        let metrics = self.state.metrics.clone();
        Arc::new(move |name, uses| {
            if let Some(metrics) = &metrics {
                metrics.revoked.inc_by(name.as_str(), uses);
            }
        })
    }

    /// Returns the same server over TLS. `config` says the certificate and, in this order, the protocols that are
    /// offered by ALPN: `h2` and `http/1.1`, or one of them.
    #[must_use]
    pub fn with_tls(self, config: Arc<ServerConfig>) -> Self {
        Self { tls: Some(config.into()), ..self }
    }

    /// Returns the answer to one request that comes over no connection: the way for tests, and for programs that
    /// have a server of their own. Everything is as over a Unix socket, but what belongs to the connection:
    /// [`Limits`](crate::Limits) of time for the head, idling and the response, and drains.
    pub async fn ask(&self, request: Request<impl Into<Bytes>>) -> Response<Bytes> {
        answer::ask(&self.state, request).await
    }

    /// Serves `listeners` until `shutdown` resolves, then drains: readiness turns 503, and after
    /// [`Limits::shutdown_delay`](crate::Limits::shutdown_delay) no connection is taken but those that wait to be accepted,
    /// and every request already received gets its answer within
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace).
    pub async fn run(
        self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = ()>,
    ) -> Drained {
        self.run_boxed(listeners, Box::pin(shutdown)).await
    }

    /// Does so in a box, so that what serves connections is compiled with this crate and not with its callers.
    fn run_boxed(
        mut self,
        listeners: Vec<Listener>,
        shutdown: LocalBoxFuture<'_, ()>,
    ) -> LocalBoxFuture<'_, Drained> {
        Box::pin(async move {
            tokio::select! {
                () = self.serve(accept_all(&listeners)) => (),
                () = shutdown => (),
            }
            self.state.drain.begin();
            let Limits { shutdown_delay, shutdown_grace, .. } = self.state.settings.limits;
            let _ = timeout(shutdown_delay, self.serve(accept_all(&listeners))).await;
            let waiting = stream::iter(close(listeners).await);
            if timeout(shutdown_grace, self.serve(waiting)).await.is_ok() {
                return Drained::Whole;
            }
            let connections = self.connections.len();
            self.connections.shutdown().await;
            Drained::CutOff { connections }
        })
    }

    /// Serves `accepted`, and those that are served already, to their ends. TLS is for clients on other machines.
    async fn serve(&mut self, accepted: impl Stream<Item = Accepted>) {
        let Self { state, tls, connections } = self;
        let max = state.settings.limits.max_connections.get();
        serve_all(connections, max, accepted, |(io, peer)| {
            let tls = tls.clone().filter(|_| peer != Peer::Unix);
            let counted = state.metrics.as_ref().map(|metrics| metrics.begin_connection());
            let state = Arc::clone(state);
            async move {
                let _counted = counted;
                connection::serve(io, peer, tls, state).await;
            }
        })
        .await;
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
