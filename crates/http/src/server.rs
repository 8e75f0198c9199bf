//! Placeholder.

use std::{fmt, sync::Arc};

use petstore_domain::{Authenticator, Clock, PetService};
use tokio::net::TcpListener;

use crate::Settings;

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
pub struct Server;

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
    pub fn new(_ports: Ports, _settings: Settings) -> Self {
        Self
    }

    /// Serves `listener` until `shutdown` resolves, then drains: readiness turns 503, no new
    /// connection is taken, every request already received gets its answer within
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace).
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Drained {
        shutdown.await;
        drop(listener);
        Drained::Whole
    }
}
