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
    /// The memory of each body and how its task wakes up, by the last progress: when its client took something, and the
    /// number of that.
    bodies: BTreeMap<Progress, (usize, Arc<Notify>)>,
}

type Progress = (Instant, u64);

impl Inner {
    /// Inserts a body that has made progress now.
    fn insert(&mut self, body: (usize, Arc<Notify>)) -> Progress {
        let progress = (Instant::now(), self.next);
        self.next += 1;
        self.bodies.insert(progress, body);
        progress
    }
}

impl WaitingBodies {
    /// Creates a bound of `max` bytes.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, inner: Mutex::default() })
    }

    /// Counts a body of `length` bytes until the returned value is dropped. Without room for it, the bodies end of which
    /// nothing was taken for longest; the `wake` of each is notified.
    pub(super) fn add(self: &Arc<Self>, length: usize, wake: Arc<Notify>) -> WaitingBody {
        let bytes = length + OVERHEAD;
        let mut inner = self.lock();
        while inner.bytes + bytes > self.max
            && let Some((_, (freed, wake))) = inner.bodies.pop_first()
        {
            inner.bytes -= freed;
            wake.notify_one();
        }
        inner.bytes += bytes;
        let progress = inner.insert((bytes, Arc::clone(&wake)));
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
        if let Some(body) = inner.bodies.remove(&self.progress) {
            self.progress = inner.insert(body);
        }
    }

    /// Returns the time at which the body ends if its client takes nothing, which may come nearer: `timeout` after the
    /// last progress, a second if memory is short. It is in the past if others have got the memory.
    pub(super) fn deadline(&self, timeout: Duration) -> Instant {
        let inner = self.all.lock();
        let timeout = match inner.bodies.contains_key(&self.progress) {
            true if inner.bytes > self.all.max / 2 => timeout.min(SHORT_TIMEOUT),
            true => timeout,
            false => Duration::ZERO,
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
        let mut inner = self.all.lock();
        if let Some((bytes, _)) = inner.bodies.remove(&self.progress) {
            inner.bytes -= bytes;
        }
    }
}
