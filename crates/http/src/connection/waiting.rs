//! The bodies of answers that wait for their clients: one bound for their memory, over all connections.
//!
//! **What it buys.** A client that asks for much and reads nothing cannot fill the memory, and costs the others nothing.
//!
//! **What it costs.** Over HTTP/2, each answer with a body is an entry in a table, which has one lock. Over HTTP/1, one that
//! the socket takes at once is not.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The memory of a body that waits besides its bytes: its request, its stream and its task.
const OVERHEAD: usize = 4096;
/// The time in which a client must take something while more than half of the bound is used.
pub(super) const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The bodies that wait, and the bound of their memory.
#[derive(Debug)]
pub(crate) struct WaitingBodies {
    max: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    bytes: usize,
    /// The number of the next progress.
    next: u64,
    /// By the last progress: when the client took something, and the number of that.
    bodies: BTreeMap<Progress, Entry>,
    /// The memory of the bodies of each connection.
    connections: BTreeMap<usize, usize>,
}

type Progress = (Instant, u64);

#[derive(Debug)]
struct Entry {
    bytes: usize,
    connection: usize,
    /// Wakes the task of the body.
    wake: Arc<Notify>,
}

impl Inner {
    /// Inserts a body that has made progress now.
    fn insert(&mut self, body: Entry) -> Progress {
        let progress = (Instant::now(), self.next);
        self.next += 1;
        self.bytes += body.bytes;
        *self.connections.entry(body.connection).or_default() += body.bytes;
        self.bodies.insert(progress, body);
        progress
    }

    fn remove(&mut self, progress: Progress) -> Option<Entry> {
        let body = self.bodies.remove(&progress)?;
        self.bytes -= body.bytes;
        if let Some(bytes) = self.connections.get_mut(&body.connection) {
            *bytes -= body.bytes;
            if *bytes == 0 {
                self.connections.remove(&body.connection);
            }
        }
        Some(body)
    }

    /// Returns whether the connection of `body` has at least an equal share of the memory. A client that asks for little
    /// is not disturbed by one that asks for much.
    fn is_greedy(&self, body: &Entry) -> bool {
        let share = self.bytes / self.connections.len().max(1);
        self.connections.get(&body.connection).is_some_and(|bytes| *bytes >= share)
    }

    /// Returns the body that ends for a new one: of those of greedy connections, the one of which nothing was taken for
    /// longest.
    fn victim(&self) -> Option<Progress> {
        self.bodies.iter().find(|(_, body)| self.is_greedy(body)).map(|(progress, _)| *progress)
    }
}

impl WaitingBodies {
    /// Creates a bound of `max` bytes.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, inner: Mutex::default() })
    }

    /// Counts a body of `length` bytes of a connection until the returned value is dropped. Without room for it, bodies of
    /// which nothing was taken for longest end, of connections that have much; the `wake` of each is notified.
    pub(super) fn add(
        self: &Arc<Self>,
        connection: usize,
        length: usize,
        wake: Arc<Notify>,
    ) -> WaitingBody {
        let bytes = length + OVERHEAD;
        let mut inner = self.lock();
        while inner.bytes + bytes > self.max
            && let Some(victim) = inner.victim()
            && let Some(ended) = inner.remove(victim)
        {
            ended.wake.notify_one();
        }
        let progress = inner.insert(Entry { bytes, connection, wake: Arc::clone(&wake) });
        WaitingBody { all: Arc::clone(self), progress, wake }
    }

    /// Returns the memory of all bodies that wait, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that waits for its client.
#[derive(Debug)]
pub(super) struct WaitingBody {
    all: Arc<WaitingBodies>,
    progress: Progress,
    wake: Arc<Notify>,
}

impl WaitingBody {
    /// Notes that the client has taken a part of the body.
    pub(super) fn note_progress(&mut self) {
        let mut inner = self.all.lock();
        if let Some(body) = inner.remove(self.progress) {
            self.progress = inner.insert(body);
        }
    }

    /// Returns the time at which the body ends if its client takes nothing, which may come nearer: `timeout` after the
    /// last progress, a second if memory is short and the connection has
    /// much of it. It is in the past if others have got the memory.
    pub(super) fn deadline(&self, timeout: Duration) -> Instant {
        let inner = self.all.lock();
        let is_short = inner.bytes > self.all.max / 2;
        let timeout = match inner.bodies.get(&self.progress) {
            Some(body) if is_short && inner.is_greedy(body) => timeout.min(SHORT_TIMEOUT),
            Some(_) => timeout,
            None => Duration::ZERO,
        };
        self.progress.0 + timeout
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
        self.all.lock().remove(self.progress);
    }
}
