//! The accept loop and the drain.

pub(crate) mod listener;
pub(crate) mod metrics_listener;

use std::{convert::Infallible, fmt, pin::pin, sync::Arc};

use petstore_domain::KeyName;
use tokio::{
    net::TcpListener,
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use self::{
    listener::{Accepted, Listener, accept, close},
    metrics_listener::{Monitor, Monitored},
};
use crate::{
    connection,
    observe::metrics::Metrics,
    request::Peer,
    settings::{Limits, Settings},
    state::{Ports, State},
};

/// The HTTP server.
pub struct Server {
    state: Arc<State>,
    tls: Option<TlsAcceptor>,
    /// Those that are being served; no more than the limit.
    connections: JoinSet<()>,
}

/// Counts requests with a revoked key, by the name of the key.
pub type RevokedKeyCounter = Arc<dyn Fn(&KeyName, u64) + Send + Sync>;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every request received was answered.
    Whole,
    /// The grace was over; so many connections were cut off.
    CutOff {
        /// How many.
        connections: usize,
    },
}

impl Server {
    /// Creates a server over `ports`, without metrics.
    #[must_use]
    pub fn new(ports: Ports, settings: Settings) -> Self {
        Self::with_state(State::new(ports, settings, None))
    }

    /// Returns a server with metrics, and what serves them on `listener` and nowhere else: a future for a
    /// task beside the server, which never ends by itself. The figures of what is `monitored` are among the metrics.
    ///
    /// # Errors
    /// Two metrics have one name.
    pub fn with_metrics(
        ports: Ports,
        settings: Settings,
        listener: TcpListener,
        monitored: Monitored,
    ) -> Result<(Self, impl Future<Output = Infallible> + Send + use<>), impl fmt::Display + use<>>
    {
        let metrics = Arc::new(Metrics::new()?);
        let server = Self::with_state(State::new(ports, settings, Some(metrics.clone())));
        let monitor = Monitor { state: Arc::clone(&server.state), metrics, monitored };
        Ok::<_, prometheus::Error>((server, monitor.serve(listener)))
    }

    fn with_state(state: State) -> Self {
        Self { state: Arc::new(state), tls: None, connections: JoinSet::new() }
    }

    /// Returns what counts requests with revoked keys: it is called with the name of a key, and how many there were.
    /// Without metrics it does nothing.
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

    /// Serves `listeners` until `shutdown` resolves, then drains: readiness turns 503, no connection is
    /// taken but those that wait to be accepted, every request already received gets its answer within
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace).
    pub async fn run(
        mut self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = ()>,
    ) -> Drained {
        tokio::select! {
            never = self.accept_all(&listeners) => match never {},
            () = shutdown => (),
        }
        self.state.drain.begin();
        let Limits { max_connections, shutdown_grace, .. } = self.state.settings.limits;
        let waiting = close(listeners).await;
        let all_ended = async {
            for connection in waiting {
                while self.connections.len() >= max_connections.get()
                    && let Some(ended) = self.connections.join_next().await
                {
                    note_end(ended);
                }
                self.spawn(connection);
            }
            while let Some(ended) = self.connections.join_next().await {
                note_end(ended);
            }
        };
        if timeout(shutdown_grace, all_ended).await.is_ok() {
            return Drained::Whole;
        }
        let connections = self.connections.len();
        self.connections.shutdown().await;
        Drained::CutOff { connections }
    }

    /// Accepts connections, no more at a time than the limit; the rest waits in the accept queue. One
    /// that ends is taken note of at once.
    async fn accept_all(&mut self, listeners: &[Listener]) -> Infallible {
        let max = self.state.settings.limits.max_connections.get();
        let mut turn = 0_usize;
        let mut accepted = pin!(accept(listeners, turn));
        loop {
            tokio::select! {
                Some(ended) = self.connections.join_next() => note_end(ended),
                connection = &mut accepted, if self.connections.len() < max => {
                    self.spawn(connection);
                    turn = turn.wrapping_add(1);
                    accepted.set(accept(listeners, turn));
                }
            }
        }
    }

    /// Serves a connection. TLS is for those from other machines.
    fn spawn(&mut self, (io, peer): Accepted) {
        let state = Arc::clone(&self.state);
        let tls = self.tls.clone().filter(|_| peer != Peer::Unix);
        let counted = self.state.metrics.as_ref().map(|metrics| metrics.begin_connection());
        self.connections.spawn(async move {
            let _counted = counted;
            connection::serve(io, peer, tls, state).await;
        });
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

fn note_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic");
    }
}

#[cfg(test)]
mod tests;
