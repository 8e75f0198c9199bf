//! The memory bound of all connections together: requests of HTTP/2, and response bodies that wait for their clients.
//!
//! A client that asks for much and reads nothing can neither fill the memory nor disturb others. Over HTTP/2, each request
//! is counted in two tables under one lock. Over HTTP/1, only a response that the socket does not take at once is counted.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The memory of a request besides its response body, in bytes: head, stream and task.
const OVERHEAD: usize = 4096;
/// The write timeout while more than half of the memory is used.
pub(super) const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests and waiting response bodies, with the bound of their memory.
#[derive(Debug)]
pub(crate) struct WaitingBodies {
    max: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The memory in use, in bytes.
    bytes: usize,
    /// The number of the next progress.
    next: u64,
    /// The waiting bodies, in the order of their last progress.
    bodies: BTreeMap<Progress, Entry>,
    /// The memory of each connection, in bytes.
    connections: BTreeMap<usize, usize>,
}

/// The time at which a client took a part of a body, made unique by a number.
type Progress = (Instant, u64);

#[derive(Debug)]
struct Entry {
    /// The memory of the body and of its request, in bytes.
    bytes: usize,
    connection: usize,
    /// Wakes the task that sends the body.
    wake: Arc<Notify>,
}

impl Inner {
    fn count(&mut self, connection: usize, bytes: usize) {
        self.bytes += bytes;
        *self.connections.entry(connection).or_default() += bytes;
    }

    fn discount(&mut self, connection: usize, bytes: usize) {
        self.bytes -= bytes;
        if let Some(held) = self.connections.get_mut(&connection) {
            *held -= bytes;
            if *held == 0 {
                self.connections.remove(&connection);
            }
        }
    }

    /// Inserts a body whose client makes progress now.
    fn insert(&mut self, body: Entry) -> Progress {
        let progress = (Instant::now(), self.next);
        self.next += 1;
        self.bodies.insert(progress, body);
        progress
    }

    /// Returns whether `connection` holds at least an equal share of the memory. Only greedy connections lose something,
    /// so a client that asks for little is not disturbed by one that asks for much.
    fn is_greedy(&self, connection: usize) -> bool {
        let share = self.bytes / self.connections.len().max(1);
        self.connections.get(&connection).is_some_and(|bytes| *bytes >= share)
    }

    /// Ends bodies of greedy connections until there is room for `bytes` bytes. The body without progress for longest
    /// ends first.
    fn make_room(&mut self, bytes: usize, max: usize) {
        while self.bytes + bytes > max {
            let mut all = self.bodies.iter();
            let victim = all.find(|(_, body)| self.is_greedy(body.connection)).map(|(at, _)| *at);
            let Some(ended) = victim.and_then(|victim| self.bodies.remove(&victim)) else { return };
            self.discount(ended.connection, ended.bytes);
            ended.wake.notify_one();
        }
    }
}

impl WaitingBodies {
    /// Creates a bound of `max` bytes.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, inner: Mutex::default() })
    }

    /// Counts a request of `connection` until the returned value is dropped. Returns `None` if there is no room and the
    /// connection is greedy.
    pub(super) fn try_begin(self: &Arc<Self>, connection: usize) -> Option<WaitingBody> {
        let mut inner = self.lock();
        inner.make_room(OVERHEAD, self.max);
        if inner.bytes + OVERHEAD > self.max && inner.is_greedy(connection) {
            return None;
        }
        inner.count(connection, OVERHEAD);
        Some(WaitingBody {
            all: Arc::clone(self),
            connection,
            progress: None,
            wake: Arc::default(),
        })
    }

    /// Counts a body of `length` bytes, whose request is not counted, until the returned value is dropped. `wake` is
    /// notified if the body ends early.
    pub(super) fn add(
        self: &Arc<Self>,
        connection: usize,
        length: usize,
        wake: Arc<Notify>,
    ) -> WaitingBody {
        self.lock().count(connection, OVERHEAD);
        let mut body = WaitingBody { all: Arc::clone(self), connection, progress: None, wake };
        body.begin(length);
        body
    }

    /// Returns the memory in use, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory of one request, and of its response body once that waits for the client.
#[derive(Debug)]
pub(super) struct WaitingBody {
    all: Arc<WaitingBodies>,
    connection: usize,
    /// The key of the body among all; `None` until there is a body.
    progress: Option<Progress>,
    wake: Arc<Notify>,
}

impl WaitingBody {
    /// Counts the body, of `length` bytes. Without room, bodies of greedy connections end.
    pub(super) fn begin(&mut self, length: usize) {
        let Self { connection, ref wake, .. } = *self;
        let mut inner = self.all.lock();
        inner.make_room(length, self.all.max);
        inner.count(connection, length);
        let bytes = OVERHEAD + length;
        self.progress = Some(inner.insert(Entry { bytes, connection, wake: Arc::clone(wake) }));
    }

    /// Notes that the client has taken a part of the body.
    pub(super) fn note_progress(&mut self) {
        let mut inner = self.all.lock();
        if let Some(body) = self.progress.and_then(|progress| inner.bodies.remove(&progress)) {
            self.progress = Some(inner.insert(body));
        }
    }

    /// Returns the time at which the body ends if its client takes nothing more: `timeout` after the last progress, or a
    /// second if memory is short and the connection is greedy. The time is in the past if the body has lost its memory.
    pub(super) fn deadline(&self, timeout: Duration) -> Instant {
        let inner = self.all.lock();
        let Some(progress) = self.progress else { return Instant::now() + timeout };
        let is_short = inner.bytes > self.all.max / 2;
        let timeout = match inner.bodies.get(&progress) {
            Some(_) if is_short && inner.is_greedy(self.connection) => timeout.min(SHORT_TIMEOUT),
            Some(_) => timeout,
            None => Duration::ZERO,
        };
        progress.0 + timeout
    }

    /// Resolves when the body ends; see [`deadline`](Self::deadline).
    pub(super) async fn stalled(&self, timeout: Duration) {
        loop {
            let (deadline, now) = (self.deadline(timeout), Instant::now());
            if deadline <= now {
                return;
            }
            tokio::select! {
                () = sleep_until(deadline.min(now + SHORT_TIMEOUT)) => (),
                () = self.wake.notified() => (),
            }
        }
    }
}

impl Drop for WaitingBody {
    fn drop(&mut self) {
        let mut inner = self.all.lock();
        match self.progress {
            None => inner.discount(self.connection, OVERHEAD),
            Some(progress) => {
                if let Some(body) = inner.bodies.remove(&progress) {
                    inner.discount(body.connection, body.bytes);
                }
            }
        }
    }
}
