//! The accept loop and the drain.

use std::{fmt, io, sync::Arc, time::Duration};

use petstore_domain::{Authenticator, Clock, PetService};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};

use crate::{
    connection::{self, DrainSignal},
    settings::Settings,
    state::State,
};

/// The pause after a connection could not be accepted, for example because the process has no file
/// descriptor left: without it the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the adapter drives.
#[derive(Clone)]
pub struct Ports {
    /// The catalogue.
    pub pets: Arc<dyn PetService>,
    /// Who is calling.
    pub authenticator: Arc<dyn Authenticator>,
    /// For the sunset of getPet.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// The HTTP server.
#[derive(Debug)]
pub struct Server {
    state: Arc<State>,
    connections: JoinSet<()>,
    drain: DrainSignal,
}

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
    /// A server over `ports`.
    #[must_use]
    pub fn new(ports: Ports, settings: Settings) -> Self {
        let state = Arc::new(State::new(ports, settings));
        Self { state, connections: JoinSet::new(), drain: DrainSignal::new() }
    }

    /// Serves `listener` until `shutdown` resolves, then drains: readiness turns 503, no new
    /// connection is taken, every request already received gets its answer within
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace).
    pub async fn run(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Drained {
        tokio::select! {
            () = self.accept_all(&listener) => (),
            () = shutdown => (),
        }
        drop(listener);
        self.state.begin_drain();
        self.drain.begin();
        let grace = self.state.settings.limits.shutdown_grace;
        let all_ended = async {
            while let Some(ended) = self.connections.join_next().await {
                note_end(ended);
            }
        };
        if timeout(grace, all_ended).await.is_ok() {
            return Drained::Whole;
        }
        let connections = self.connections.len();
        self.connections.shutdown().await;
        Drained::CutOff { connections }
    }

    /// Accepts connections, no more at a time than the limit; the rest waits in the accept queue.
    async fn accept_all(&mut self, listener: &TcpListener) {
        let limit = self.state.settings.limits.max_connections.get().min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(limit));
        let mut failing = false;
        // The semaphore is never closed, so a place always comes.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _peer)) => {
                    failing = false;
                    self.spawn(stream, place);
                }
                Err(error) if is_of_one_connection(&error) => (),
                Err(error) => {
                    if !failing {
                        tracing::error!(%error, "connections cannot be accepted for now");
                    }
                    failing = true;
                    sleep(ACCEPT_PAUSE).await;
                }
            }
            while let Some(ended) = self.connections.try_join_next() {
                note_end(ended);
            }
        }
    }

    fn spawn(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let (state, drain) = (Arc::clone(&self.state), self.drain.subscribe());
        self.connections.spawn(connection::serve(stream, state, drain, place));
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn note_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic");
    }
}
