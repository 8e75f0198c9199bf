//! The sockets that clients connect to: TCP and Unix, beside each other.

use std::{
    fmt,
    future::poll_fn,
    io,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::last_connections::refuse_handshakes;
use crate::peer::Peer;

/// A socket that clients connect to.
pub struct Listener {
    socket: Socket,
    shared: bool,
    at_drain: Option<Box<dyn FnOnce() + Send>>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// A socket that belongs to another process too, such as the service manager, which keeps the
    /// connections that wait to be accepted when this one stops.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// With work to be done when the drain begins, before the last connections are accepted: for example,
    /// to remove the file of a Unix socket, so that nobody connects any more.
    #[must_use]
    pub fn at_drain(self, work: impl FnOnce() + Send + 'static) -> Self {
        Self { at_drain: Some(Box::new(work)), ..self }
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match &self.socket {
            Socket::Tcp(listener) => listener.poll_accept(cx).map_ok(|(stream, peer)| {
                // Without this a small answer may wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                Accepted::Tcp(stream, peer.into())
            }),
            Socket::Unix(listener) => listener.poll_accept(cx).map_ok(|(stream, _)| {
                let user = stream.peer_cred().ok().map(|peer| peer.uid());
                Accepted::Unix(stream, Peer::Unix(user))
            }),
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self { socket: Socket::Tcp(listener), shared: false, at_drain: None }
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self { socket: Socket::Unix(listener), shared: false, at_drain: None }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// A connection that was accepted, and where it comes from.
pub(super) enum Accepted {
    Tcp(TcpStream, Peer),
    Unix(UnixStream, Peer),
}

/// Every socket of a server. A single [`TcpListener`] is one, too.
#[derive(Debug)]
pub struct Listeners {
    all: Vec<Listener>,
    /// Which is asked first: they take turns.
    first: AtomicUsize,
}

impl Listeners {
    /// The next connection of any of them.
    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        let first = self.first.fetch_add(1, Ordering::Relaxed) % self.all.len().max(1);
        let (later, sooner) = self.all.split_at(first);
        poll_fn(|cx| {
            let mut polled = sooner.iter().chain(later).map(|listener| listener.poll_accept(cx));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Closes those that are shared, and keeps new connections from the others; `false` if none is left.
    pub(super) fn begin_drain(&mut self) -> bool {
        for listener in &mut self.all {
            if let Some(work) = listener.at_drain.take() {
                work();
            }
        }
        self.all.retain(|listener| !listener.shared);
        for listener in &self.all {
            if let Socket::Tcp(listener) = &listener.socket {
                refuse_handshakes(listener);
            }
        }
        !self.all.is_empty()
    }
}

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Self {
        Self::from_iter([Listener::from(listener)])
    }
}

impl FromIterator<Listener> for Listeners {
    fn from_iter<I: IntoIterator<Item = Listener>>(all: I) -> Self {
        Self { all: all.into_iter().collect(), first: AtomicUsize::new(0) }
    }
}
