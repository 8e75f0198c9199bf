//! Deadlines of one connection: request head, keep-alive and response write.
//!
//! hyper's own timer is not used: it has one deadline for both the idle time and the request head.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, Stream, stream::FuturesUnordered};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    ending::Drain,
    waiting::{ConnectionMemory, SHORT_TIMEOUT, WaitingBodies, WaitingBody},
};
use crate::settings::Limits;

/// The largest request head in bytes, in both versions of HTTP.
pub(super) const MAX_HEAD: u32 = 16 * 1024;
/// The lowest rate at which a client may read responses, in bytes per second. Networks in real use are faster.
const MIN_RATE: u64 = 1024;

/// The largest piece of a response body over HTTP/2, in bytes: one frame.
const MAX_PIECE: usize = 16 * 1024;
/// The smallest piece of a response body over HTTP/2, in bytes. One piece of each of 128 streams fits into the initial
/// flow-control window of a connection.
const MIN_PIECE: usize = 511;

/// The deadlines of a connection, shared by the tasks that serve it.
#[derive(Debug)]
pub(super) struct Activity {
    inner: Mutex<Inner>,
    pub(super) memory: Arc<ConnectionMemory>,
    /// Notified when a deadline has moved to an earlier time.
    wake: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Inner {
    limits: Limits,
    /// The number of requests in flight. Over HTTP/2, a request is in flight until its response is sent.
    requests: usize,
    /// The number of responses that are being sent over HTTP/2.
    answers: usize,
    /// The length of the last response over HTTP/1, in bytes.
    last_answer: usize,
    /// The memory of the last response over HTTP/1 while the socket is not writable.
    blocked: Option<WaitingBody>,
    /// The deadline for a complete request head, or for the start of the next head. `None` while a request is in
    /// flight, and while the socket is blocked before the next head has begun.
    read_deadline: Option<(Instant, Reason)>,
    /// The deadline by which the client must read more of its responses. Set while there are `answers` or the socket is
    /// `blocked`. A deadline that has passed stays.
    write_deadline: Option<Instant>,
}

/// A reason to end a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A request head did not arrive in time.
    LateHead,
    /// No request arrived in time.
    Idle,
    /// The client reads its responses too slowly.
    Stalled,
    /// The server drains, and idle connections close now.
    LastCall,
}

impl Activity {
    /// Creates the deadlines of a connection that was accepted at `accepted`.
    pub(super) fn new(accepted: Instant, limits: Limits, bodies: Arc<WaitingBodies>) -> Arc<Self> {
        let inner = Mutex::new(Inner {
            limits,
            read_deadline: Some((accepted + limits.header_timeout, Reason::LateHead)),
            ..Inner::default()
        });
        Arc::new(Self { inner, memory: ConnectionMemory::new(bodies), wake: Arc::default() })
    }

    /// Begins a request, which is in flight until the returned value is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> InFlightRequest {
        let mut inner = self.lock();
        inner.requests += 1;
        inner.read_deadline = None;
        InFlightRequest { activity: Arc::clone(self), is_sending: false, length: 0 }
    }

    /// Notes that bytes were read over HTTP/1. If no request is in flight and no head has begun, the bytes start a
    /// request head and the header timeout.
    pub(super) fn note_read(&self) {
        let mut inner = self.lock();
        if inner.requests == 0 && !inner.awaits_head() {
            let deadline = Instant::now() + inner.limits.header_timeout;
            inner.read_deadline = Some((deadline, Reason::LateHead));
        }
    }

    /// Sets the idle timeout to `timeout`, and drops the deadline of a request head.
    pub(super) fn expect_end(&self, timeout: Duration) {
        let mut inner = self.lock();
        inner.limits.idle_timeout = timeout;
        inner.read_deadline = None;
        inner.note_end();
    }

    /// Notes whether the HTTP/1 socket is blocked, that is, not writable.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        let mut inner = self.lock();
        if is_blocked {
            // The memory that waits: the last response, and hyper's write buffer.
            let length = inner.last_answer + MAX_HEAD as usize;
            inner.blocked = Some(self.memory.add(length, Arc::clone(&self.wake)));
            inner.read_deadline.take_if(|(_, reason)| *reason == Reason::Idle);
            inner.begin_to_send();
            self.wake.notify_one();
        } else {
            inner.blocked = None;
            inner.note_end();
        }
    }

    /// Extends the write deadline by `bytes / MIN_RATE` seconds, at most to now + `write_timeout`. A client is late
    /// when it reads nothing for `write_timeout`, or when its average rate stays below `MIN_RATE`.
    pub(super) fn note_written(&self, bytes: usize) {
        let mut inner = self.lock();
        let limit = inner.limits.write_timeout;
        if let Some(deadline) = &mut inner.write_deadline {
            let gained = (bytes as u64).saturating_mul(1_000_000) / MIN_RATE;
            let later = *deadline + Duration::from_micros(gained).min(limit);
            *deadline = later.min(Instant::now() + limit);
        }
        if let Some(blocked) = &mut inner.blocked {
            blocked.note_progress();
        }
    }

    /// Waits until one of the deadlines has passed, or a blocked response has lost its memory. Returns the reason.
    pub(super) async fn wait_until_inactive(&self) -> Reason {
        loop {
            let wake = {
                let (now, inner) = (Instant::now(), self.lock());
                let Limits { header_timeout, idle_timeout, write_timeout, .. } = inner.limits;
                let blocked = inner.blocked.as_ref().map(|body| body.deadline(write_timeout));
                let write = inner.write_deadline.into_iter().chain(blocked);
                let write = write.map(|deadline| (deadline, Reason::Stalled));
                let next = write.chain(inner.read_deadline).min_by_key(|next| next.0);
                // A deadline that is set while this task sleeps is not before `later`, or notifies `wake`.
                let later = now + idle_timeout.min(write_timeout).min(header_timeout);
                let later = if blocked.is_some() { later.min(now + SHORT_TIMEOUT) } else { later };
                match next {
                    Some((deadline, reason)) if deadline <= now => return reason,
                    next => next.map_or(later, |(deadline, _)| deadline.min(later)),
                }
            };
            let _ = timeout_at(wake, self.wake.notified()).await;
        }
    }

    /// Returns a stream of the reasons to end the connection, as they occur. `FuturesUnordered` polls only the futures
    /// that were woken, so bytes from the client do not poll the deadlines.
    pub(super) fn reasons<'c>(&'c self, drain: &'c Drain) -> impl Stream<Item = Reason> + Unpin {
        let last_call = drain.last_call().map(|()| Reason::LastCall);
        FuturesUnordered::from_iter([self.wait_until_inactive().boxed(), last_call.boxed()])
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Sets the write deadline, unless a write deadline is set already.
    fn begin_to_send(&mut self) {
        let limit = self.limits.write_timeout;
        self.write_deadline.get_or_insert_with(|| Instant::now() + limit);
    }

    /// Updates the deadlines after a request has ended, the socket has become writable, or the idle timeout has
    /// changed.
    fn note_end(&mut self) {
        let is_blocked = self.blocked.is_some();
        if self.answers == 0 && !is_blocked {
            // A deadline that has passed ends the connection, even if its late stream was reset first.
            self.write_deadline.take_if(|deadline| *deadline > Instant::now());
        }
        if self.requests == 0 && !self.awaits_head() && !is_blocked {
            self.read_deadline = Some((Instant::now() + self.limits.idle_timeout, Reason::Idle));
        }
    }

    fn awaits_head(&self) -> bool {
        self.read_deadline.is_some_and(|(_, reason)| reason == Reason::LateHead)
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlightRequest {
    pub(super) activity: Arc<Activity>,
    is_sending: bool,
    /// The length of the response over HTTP/1, in bytes. The response is sent after the request has ended.
    pub(super) length: usize,
}

impl InFlightRequest {
    /// Notes that the HTTP/2 response starts, and sets the write deadline unless a write deadline is set already.
    pub(super) fn begin_answer(&mut self) {
        self.is_sending = true;
        let mut inner = self.activity.lock();
        inner.answers += 1;
        inner.begin_to_send();
    }

    /// Returns the largest length of the next piece of the body, in bytes. Between two pieces of this body, every other
    /// response of the connection sends a piece. With this length, a client that reads at [`MIN_RATE`] takes a piece of
    /// every response within the write timeout, unless the length is raised to [`MIN_PIECE`].
    pub(super) fn next_piece(&self) -> usize {
        let inner = self.activity.lock();
        let in_time = MIN_RATE.saturating_mul(inner.limits.write_timeout.as_secs());
        let share = usize::try_from(in_time).unwrap_or(MAX_PIECE) / inner.requests.max(1);
        share.clamp(MIN_PIECE, MAX_PIECE)
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let mut inner = self.activity.lock();
        inner.requests = inner.requests.saturating_sub(1);
        inner.answers = inner.answers.saturating_sub(usize::from(self.is_sending));
        inner.last_answer = self.length;
        inner.note_end();
    }
}

#[cfg(test)]
mod tests;
