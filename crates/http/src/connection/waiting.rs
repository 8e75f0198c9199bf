//! The memory bound of all connections together: requests of HTTP/2, and response bodies that wait for their clients.
//!
//! A client that asks for much and reads nothing can neither fill the memory nor disturb other clients. Over HTTP/2, a
//! request takes one lock a few times. Over HTTP/1, only a response that the socket does not accept at once is counted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::request::body::yield_once;

/// The memory of a request besides its response body, in bytes: head, stream and task.
const OVERHEAD: usize = 4096;
/// The write timeout of greedy connections while more than half of the memory is used.
pub(super) const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests and waiting response bodies, with the bound of their memory.
#[derive(Debug)]
pub(crate) struct WaitingBodies(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The bound of the memory, in bytes.
    max: usize,
    /// The memory in use, in bytes.
    bytes: usize,
    /// The number of connections that use memory.
    connections: usize,
    /// The number of the next [`Progress`].
    next: u64,
    /// The waiting bodies, in the order of their last progress.
    bodies: BTreeMap<Progress, Entry>,
}

/// The memory of one connection.
#[derive(Debug)]
pub(super) struct ConnectionMemory {
    all: Arc<WaitingBodies>,
    /// The memory in use, in bytes. The number changes only under the lock of [`Inner`].
    bytes: AtomicUsize,
}

/// The time at which a client took a part of a body, made unique by a number.
type Progress = (Instant, u64);

#[derive(Debug)]
struct Entry {
    /// The memory of the body and of its request, in bytes.
    bytes: usize,
    connection: Arc<ConnectionMemory>,
    /// Wakes the task that sends the body.
    wake: Arc<Notify>,
}

impl Inner {
    fn count(&mut self, connection: &ConnectionMemory, bytes: usize) {
        self.bytes += bytes;
        let before = connection.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.connections += usize::from(before == 0);
    }

    fn discount(&mut self, connection: &ConnectionMemory, bytes: usize) {
        self.bytes -= bytes;
        let before = connection.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.connections -= usize::from(before == bytes);
    }

    /// Inserts a body whose client makes progress now.
    fn insert(&mut self, body: Entry) -> Progress {
        let progress = (Instant::now(), self.next);
        self.next += 1;
        self.bodies.insert(progress, body);
        progress
    }

    fn is_short(&self) -> bool {
        self.bytes > self.max / 2
    }

    /// Returns whether a connection holds at least an equal share of the memory in use. Only greedy connections lose
    /// responses, so they do not disturb clients with few requests.
    fn is_greedy(&self, connection: &ConnectionMemory) -> bool {
        let share = self.bytes / self.connections.max(1);
        let bytes = connection.bytes.load(Ordering::Relaxed);
        bytes > 0 && bytes >= share
    }

    /// Ends waiting bodies of greedy connections until there is room for `bytes` bytes, or no such body is left. The
    /// body whose last progress is longest ago ends first.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.max {
            let mut all = self.bodies.iter();
            let victim = all.find(|(_, body)| self.is_greedy(&body.connection)).map(|(at, _)| *at);
            let Some(ended) = victim.and_then(|victim| self.bodies.remove(&victim)) else { return };
            self.discount(&ended.connection, ended.bytes);
            ended.wake.notify_one();
        }
    }
}

impl WaitingBodies {
    /// Creates a bound of `max` bytes.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner { max, ..Inner::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionMemory {
    /// Creates the memory of a connection, within the bound of `all`.
    pub(super) fn new(all: Arc<WaitingBodies>) -> Arc<Self> {
        Arc::new(Self { all, bytes: AtomicUsize::new(0) })
    }

    /// Counts a request until the returned value is dropped. Returns `None` if there is no room and the connection is
    /// greedy.
    pub(super) fn try_begin(self: &Arc<Self>) -> Option<WaitingBody> {
        let mut inner = self.all.lock();
        inner.make_room(OVERHEAD);
        if inner.bytes + OVERHEAD > inner.max && inner.is_greedy(self) {
            return None;
        }
        inner.count(self, OVERHEAD);
        Some(WaitingBody { connection: Arc::clone(self), bytes: OVERHEAD, waiting: None })
    }

    /// Counts a body of `length` bytes that waits, and its request, until the returned value is dropped. `wake` is
    /// notified if the body ends early.
    pub(super) fn add(self: &Arc<Self>, length: usize, wake: Arc<Notify>) -> WaitingBody {
        let mut body = WaitingBody { connection: Arc::clone(self), bytes: 0, waiting: None };
        body.count(OVERHEAD + length);
        body.wait(wake);
        body
    }
}

/// The memory of one request, and of its response body as soon as the body exists.
#[derive(Debug)]
pub(super) struct WaitingBody {
    connection: Arc<ConnectionMemory>,
    bytes: usize,
    /// The key of the body in the table of waiting bodies, and the notification that wakes its task.
    waiting: Option<(Progress, Arc<Notify>)>,
}

impl WaitingBody {
    /// Counts `bytes` bytes more. Without room, bodies of greedy connections end.
    pub(super) fn count(&mut self, bytes: usize) {
        let mut inner = self.connection.all.lock();
        inner.make_room(bytes);
        inner.count(&self.connection, bytes);
        self.bytes += bytes;
    }

    /// Allows the body to end early from now on. Returns `wake`, which is notified if the body ends early.
    fn wait(&mut self, wake: Arc<Notify>) -> Arc<Notify> {
        let (bytes, connection) = (self.bytes, Arc::clone(&self.connection));
        let entry = Entry { bytes, connection, wake: Arc::clone(&wake) };
        let mut inner = self.connection.all.lock();
        let progress = inner.insert(entry);
        inner.make_room(0);
        self.waiting = Some((progress, Arc::clone(&wake)));
        wake
    }

    /// Notes that the client has received a part of the body.
    pub(super) fn note_progress(&mut self) {
        let Some((progress, _)) = &mut self.waiting else { return };
        let mut inner = self.connection.all.lock();
        if let Some(body) = inner.bodies.remove(progress) {
            *progress = inner.insert(body);
        }
    }

    /// Returns the time at which the body ends if its client takes nothing more: `timeout` after the last progress, or
    /// a second if memory is short and the connection is greedy. The time is in the past if the body has lost its
    /// memory.
    pub(super) fn deadline(&self, timeout: Duration) -> Instant {
        let Some((progress, _)) = &self.waiting else { return Instant::now() + timeout };
        let inner = self.connection.all.lock();
        let is_short = inner.is_short();
        let timeout = match inner.bodies.get(progress) {
            Some(_) if is_short && inner.is_greedy(&self.connection) => timeout.min(SHORT_TIMEOUT),
            Some(_) => timeout,
            None => Duration::ZERO,
        };
        progress.0 + timeout
    }

    /// Resolves when the body must end early; see [`deadline`](Self::deadline).
    pub(super) async fn stalled(&mut self, timeout: Duration) {
        let wake = if let Some((_, wake)) = &self.waiting {
            Arc::clone(wake)
        } else {
            // A body outside the table cannot end early. So it enters the table at once if more than half of the memory
            // is used.
            if !self.connection.all.lock().is_short() {
                // Most often the task of the connection writes the body at once, and no timer is needed.
                yield_once().await;
            }
            self.wait(Arc::default())
        };
        loop {
            let (deadline, now) = (self.deadline(timeout), Instant::now());
            if deadline <= now {
                return;
            }
            let _ = timeout_at(deadline.min(now + SHORT_TIMEOUT), wake.notified()).await;
        }
    }
}

impl Drop for WaitingBody {
    fn drop(&mut self) {
        let mut inner = self.connection.all.lock();
        let was_waiting = |(at, _): &(Progress, _)| inner.bodies.remove(at).is_some();
        // A body that has ended early is no longer counted.
        if self.waiting.as_ref().is_none_or(was_waiting) {
            inner.discount(&self.connection, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Waker},
    };

    use super::*;

    impl WaitingBodies {
        /// Returns the memory in use, in bytes.
        pub(in super::super) fn bytes(&self) -> usize {
            self.lock().bytes
        }
    }

    #[tokio::test]
    async fn a_body_may_end_early_at_once_only_if_memory_is_short() {
        for (max, waits_at_once) in [(2 * OVERHEAD, false), (2 * OVERHEAD - 1, true)] {
            let all = WaitingBodies::new(max);
            let connection = ConnectionMemory::new(all);
            let mut body = connection.try_begin().unwrap();
            let mut context = Context::from_waker(Waker::noop());
            assert!(pin!(body.stalled(Duration::MAX / 4)).poll(&mut context).is_pending());
            assert_eq!(body.waiting.is_some(), waits_at_once, "{max}");
            // A body that is larger than the memory ends as soon as it may.
            drop(body);
            let mut large = connection.try_begin().unwrap();
            large.count(max);
            large.wait(Arc::default());
            assert_eq!(connection.all.bytes(), 0);
        }
    }
}
