//! The sockets that clients connect to, TCP and Unix beside each other, and the loop that serves their connections.

use std::{fmt, io, pin::pin, time::Duration};

use futures_util::{Stream, StreamExt as _, stream};
use tokio::{
    net::{TcpListener, UnixListener},
    task::{JoinError, JoinSet, yield_now},
    time::{Instant, sleep, timeout_at},
};

use crate::{connection::stream::Io, request::Peer};

/// The pause after a connection could not be accepted, for example because the process has no file
/// descriptor left: without it the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the runtime may take to notice what is in an accept queue.
const QUEUE_DELAY: Duration = Duration::from_millis(5);
/// The most connections that are taken from the accept queues at the end: while clients connect, they may never be empty.
const MAX_QUEUED: usize = 65_536;

/// A socket that clients connect to. It is made from a bound [`TcpListener`] or [`UnixListener`].
pub struct Listener {
    socket: Socket,
    shared: bool,
    on_close: Option<Box<dyn FnOnce() + Send>>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn new(socket: Socket) -> Self {
        Self { socket, shared: false, on_close: None }
    }

    /// Marks the socket as shared with another process, such as the service manager. At the end, connections that wait to
    /// be accepted are left to that process.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Runs `work` at the end of [`Limits::shutdown_delay`](crate::Limits::shutdown_delay), before the last connections are
    /// accepted: for example, to remove the file of a Unix socket, so that no client connects any more.
    #[must_use]
    pub fn on_close(self, work: impl FnOnce() + Send + 'static) -> Self {
        Self { on_close: Some(Box::new(work)), ..self }
    }

    async fn accept(&self) -> Accepted {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, peer) = accept_with_retry(|| listener.accept()).await;
                // Without this a small answer may wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                (Box::new(stream), peer.into())
            }
            Socket::Unix(listener) => {
                let (stream, _) = accept_with_retry(|| listener.accept()).await;
                (Box::new(stream), Peer::Unix)
            }
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::new(Socket::Tcp(listener))
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::new(Socket::Unix(listener))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// A connection that was accepted, and where it comes from.
pub(super) type Accepted = (Box<dyn Io>, Peer);

/// Serves each connection in a task of its own, no more than `max` at a time, and returns when there are no more and
/// all have ended. The rest waits in the accept queue. A connection that ends is taken note of at once.
pub(super) async fn serve_all<T, F>(
    tasks: &mut JoinSet<()>,
    max: usize,
    connections: impl Stream<Item = T>,
    serve: impl Fn(T) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = pin!(connections.fuse());
    loop {
        tokio::select! {
            Some(ended) = tasks.join_next() => {
                if let Some(error) = ended.err().filter(JoinError::is_panic) {
                    tracing::error!(%error, "a connection ended in a panic");
                }
            }
            Some(connection) = connections.next(), if tasks.len() < max => {
                tasks.spawn(serve(connection));
            }
            else => return,
        }
    }
}

/// Returns the connections of all listeners, which take turns. Never ends.
pub(super) fn accept_all(listeners: &[Listener]) -> impl Stream<Item = Accepted> {
    let each = |listener| stream::repeat(listener).then(Listener::accept).boxed_local();
    stream::select_all(listeners.iter().map(each)).chain(stream::pending())
}

/// Closes the listeners, and returns the connections in their accept queues, which the system would reset. Those of
/// a shared socket wait on, for the other process.
pub(super) async fn close(mut listeners: Vec<Listener>) -> Vec<Accepted> {
    for work in listeners.iter_mut().filter_map(|listener| listener.on_close.take()) {
        work();
    }
    listeners.retain(|listener| !listener.shared);
    let mut accepted = accept_all(&listeners).take(MAX_QUEUED);
    let (mut queued, deadline) = (Vec::new(), Instant::now() + QUEUE_DELAY);
    while let Ok(Some(connection)) = timeout_at(deadline, accepted.next()).await {
        queued.push(connection);
        // Connections in a queue are accepted after the deadline too, unless the budget of this task is used up.
        yield_now().await;
    }
    queued
}

/// Calls `accept` until it returns a connection, with a pause after an error such as EMFILE.
pub(super) async fn accept_with_retry<T, F>(accept: impl Fn() -> F) -> T
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
