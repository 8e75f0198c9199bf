//! The sockets that clients connect to: TCP and Unix, beside each other.

use std::{
    fmt,
    future::poll_fn,
    io,
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    time::sleep,
};

use crate::request::Peer;

/// The pause after a connection could not be accepted, for example because the process has no file
/// descriptor left: without it the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest accept queue that is taken over at the end: while clients connect, it may never be empty.
const MAX_QUEUED: usize = 65_536;

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
            Socket::Tcp(listener) => listener.poll_accept(cx).map_ok(Accepted::tcp),
            Socket::Unix(listener) => {
                listener.poll_accept(cx).map_ok(|(stream, _)| Accepted::unix(stream))
            }
        }
    }
}

impl Socket {
    /// Closes the socket, and returns the connections in its accept queue, which the system would reset.
    fn close(self) -> io::Result<Vec<Accepted>> {
        match self {
            Self::Tcp(listener) => {
                let listener = listener.into_std()?;
                Ok(take_queued(|| {
                    let (stream, peer) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    Ok(Accepted::tcp((TcpStream::from_std(stream)?, peer)))
                }))
            }
            Self::Unix(listener) => {
                let listener = listener.into_std()?;
                Ok(take_queued(|| {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    Ok(Accepted::unix(UnixStream::from_std(stream)?))
                }))
            }
        }
    }
}

/// Accepts until there is nothing to be accepted, without waiting.
fn take_queued(accept: impl Fn() -> io::Result<Accepted>) -> Vec<Accepted> {
    let mut queued = Vec::new();
    while queued.len() < MAX_QUEUED {
        match accept() {
            Ok(connection) => queued.push(connection),
            Err(error) if is_of_one_connection(&error) => (),
            Err(_) => break,
        }
    }
    queued
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

impl Accepted {
    fn tcp((stream, peer): (TcpStream, SocketAddr)) -> Self {
        // Without this a small answer may wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        Self::Tcp(stream, peer.into())
    }

    fn unix(stream: UnixStream) -> Self {
        let user = stream.peer_cred().ok().map(|peer| peer.uid());
        Self::Unix(stream, Peer::Unix(user))
    }
}

/// Accepts the next connection of any listener. They take turns: `turn` says which is asked first.
pub(super) async fn accept(listeners: &[Listener], turn: usize) -> Accepted {
    let (later, sooner) = listeners.split_at(turn % listeners.len().max(1));
    accept_next(|| {
        poll_fn(|cx| {
            let mut polled = sooner.iter().chain(later).map(|listener| listener.poll_accept(cx));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
    })
    .await
}

/// Closes the listeners, and returns the connections that wait to be accepted. Those of a shared socket wait on, for
/// the other process.
pub(super) fn close(listeners: Vec<Listener>) -> Vec<Accepted> {
    let mut queued = Vec::new();
    for Listener { socket, shared, at_drain } in listeners {
        if let Some(work) = at_drain {
            work();
        }
        if !shared {
            queued.extend(socket.close().unwrap_or_default());
        }
    }
    queued
}

/// Calls `accept` until it gives a connection.
pub(super) async fn accept_next<T, F>(accept: impl Fn() -> F) -> T
where
    F: Future<Output = io::Result<T>>,
{
    let mut failing = false;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_one_connection(&error) => (),
            Err(error) => {
                if !failing {
                    tracing::error!(%error, "connections cannot be accepted for now");
                }
                failing = true;
                sleep(ACCEPT_PAUSE).await;
            }
        }
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
