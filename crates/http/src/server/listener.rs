//! Listening sockets, TCP and Unix.

use std::{fmt, io, time::Duration};

use futures_util::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::{
    net::{TcpListener, UnixListener},
    task::yield_now,
    time::{Instant, sleep, timeout_at},
};

use crate::{connection::stream::Io, request::Peer};

/// The pause after `accept` has failed, for example because no file descriptor is left. Without a pause the loop would
/// spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The time limit for the runtime to report connections in an accept queue.
const QUEUE_DELAY: Duration = Duration::from_millis(5);
/// The largest number of connections taken from the accept queues at the end. The queues may never be empty while
/// clients connect.
const MAX_QUEUED: usize = 65_536;
/// The errors that end one waiting connection. The next connection can be accepted at once.
const OF_ONE_CONNECTION: [io::ErrorKind; 4] = [
    io::ErrorKind::ConnectionAborted,
    io::ErrorKind::ConnectionReset,
    io::ErrorKind::ConnectionRefused,
    io::ErrorKind::Interrupted,
];

/// A listening socket, made from a bound [`TcpListener`] or [`UnixListener`].
pub struct Listener {
    /// Accepts connections from the socket. The stream never ends.
    accepted: BoxStream<'static, Accepted>,
    shared: bool,
    on_close: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Listener {
    fn new(accepted: impl Stream<Item = Accepted> + Send + 'static) -> Self {
        Self { accepted: accepted.boxed(), shared: false, on_close: None }
    }

    /// Marks the socket as shared with another process, such as the service manager. At the end, connections in the
    /// accept queue are left to that process.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Runs `work` at the end of [`Limits::shutdown_delay`](crate::Limits::shutdown_delay), before the last connections
    /// are accepted. For example, `work` removes the file of a Unix socket.
    #[must_use]
    pub fn on_close(self, work: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { on_close: Some(Box::new(work)), ..self }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::new(stream::unfold(listener, async |listener| {
            let (stream, peer) = accept_with_retry(|| listener.accept()).await;
            // With Nagle's algorithm, a small response may wait for the acknowledgement of the previous response.
            let _ = stream.set_nodelay(true);
            Some(((Box::new(stream) as _, peer.into()), listener))
        }))
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::new(stream::unfold(listener, async |listener| {
            let (stream, _) = accept_with_retry(|| listener.accept()).await;
            Some(((Box::new(stream) as _, Peer::Unix), listener))
        }))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// An accepted connection and its peer.
pub(super) type Accepted = (Box<dyn Io>, Peer);

/// Returns the connections of all listeners in turn. The stream never ends.
pub(super) fn accept_all(listeners: &mut [Listener]) -> impl Stream<Item = Accepted> {
    let each = listeners.iter_mut().map(|listener| &mut listener.accepted);
    stream::select_all(each).chain(stream::pending())
}

/// Closes the listeners and returns the connections in their accept queues, which the system would reset otherwise.
/// Connections of a shared socket are left to the other process.
pub(super) async fn close(mut listeners: Vec<Listener>) -> Vec<Accepted> {
    for work in listeners.iter_mut().filter_map(|listener| listener.on_close.take()) {
        work();
    }
    listeners.retain(|listener| !listener.shared);
    let mut accepted = accept_all(&mut listeners).take(MAX_QUEUED);
    let (mut queued, deadline) = (Vec::new(), Instant::now() + QUEUE_DELAY);
    while let Ok(Some(connection)) = timeout_at(deadline, accepted.next()).await {
        queued.push(connection);
        // Renews tokio's budget of this task. Without a budget, `accept` would wait although connections are queued,
        // and the deadline would end the loop.
        yield_now().await;
    }
    queued
}

/// Calls `accept` until it returns a connection, and pauses after an error such as EMFILE.
async fn accept_with_retry<T, F: Future<Output = io::Result<T>>>(accept: impl Fn() -> F) -> T {
    let mut failing = false;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(error) if OF_ONE_CONNECTION.contains(&error.kind()) => (),
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

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io, thread, time::Duration};

    use futures_util::StreamExt as _;
    use tokio::time::Instant;
    use tracing::subscriber::set_default;

    use super::{ACCEPT_PAUSE, Listener, QUEUE_DELAY, TcpListener, accept_with_retry, close};
    use crate::observe::log::tests::Lines;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_accept_queues_are_emptied_even_if_this_takes_long() {
        let (mut listeners, mut clients) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = socket.local_addr().unwrap();
            clients.push([(); 100].map(|()| std::net::TcpStream::connect(address).unwrap()));
            let mut listener = Listener::from(socket);
            let slow = listener.accepted.inspect(|_| thread::sleep(QUEUE_DELAY / 100));
            listener.accepted = slow.boxed();
            listeners.push(listener);
        }
        let closing = tokio::spawn(close(listeners));
        assert_eq!(closing.await.unwrap().len(), 300);
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_error_of_the_listener_delays_the_next_connection_and_is_logged_once() {
        for (kind, pause) in [
            (io::ErrorKind::ConnectionAborted, Duration::ZERO),
            (io::ErrorKind::ConnectionReset, Duration::ZERO),
            (io::ErrorKind::ConnectionRefused, Duration::ZERO),
            (io::ErrorKind::Interrupted, Duration::ZERO),
            (io::ErrorKind::OutOfMemory, ACCEPT_PAUSE),
        ] {
            let (calls, began, lines) = (Cell::new(0), Instant::now(), Lines::default());
            let _guard = set_default(lines.clone());
            let accept = || {
                calls.set(calls.get() + 1);
                let fails = calls.get() <= 2;
                async move { if fails { Err(kind.into()) } else { Ok(()) } }
            };
            accept_with_retry(accept).await;
            assert_eq!((calls.get(), began.elapsed()), (3, 2 * pause), "{kind}");
            let lines = lines.take();
            assert_eq!(lines.len(), usize::from(!pause.is_zero()), "{kind}");
            let reason = format!("error={kind} ");
            assert!(lines.iter().all(|(_, line)| line.contains(&reason)), "{lines:?}");
        }
    }
}
