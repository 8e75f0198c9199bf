//! Deadlines of one connection: request head, keep-alive and response write. hyper's own timer counts idling and the
//! head as one.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream::FuturesUnordered;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{
    ending::Drain,
    waiting::{ConnectionMemory, SHORT_TIMEOUT, WaitingBodies, WaitingBody},
};
use crate::settings::Limits;

/// The largest head of a request, in bytes, in both versions of HTTP.
pub(super) const MAX_HEAD: u32 = 16 * 1024;
/// The slowest rate at which a client may read its answers, in bytes a second: enough for the slowest honest line.
const MIN_RATE: u64 = 1024;

/// The largest piece of an answer that one stream of HTTP/2 sends before the others have their turn, in bytes: one frame.
const MAX_PIECE: usize = 16 * 1024;
/// The smallest such piece, unless the client's windows are smaller.
const MIN_PIECE: usize = 1024;

/// The deadlines of a connection, shared by everything that serves it.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    inner: Arc<Mutex<Inner>>,
    bodies: Arc<WaitingBodies>,
    memory: ConnectionMemory,
    /// Notified when a deadline has come nearer.
    wake: Arc<Notify>,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    /// Requests that are being answered, and, over HTTP/2, those whose answers are being sent.
    requests: usize,
    /// Requests whose answers are being sent, over HTTP/2.
    answers: usize,
    /// The length of the last answer over HTTP/1, in bytes.
    last_answer: usize,
    /// The last answer over HTTP/1, while the socket takes no more because the client does not.
    blocked: Option<WaitingBody>,
    /// When the client must have sent something, while there is no request: the head that is under way, as the first
    /// one is from the beginning, or else another one.
    read_deadline: Option<(Instant, Reason)>,
    /// When the client must have taken more of its answers, while there are `answers` or one is `blocked`.
    write_deadline: Option<Instant>,
}

/// Why the server ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A head did not arrive in time.
    LateHead,
    /// No request came.
    Idle,
    /// The client takes too little of its answers.
    Stalled,
    /// The server drains.
    LastCall,
}

type Reasons<'c> = FuturesUnordered<Pin<Box<dyn Future<Output = Reason> + Send + 'c>>>;

impl Activity {
    /// Creates the activity of a connection without requests, which was accepted at that moment.
    pub(super) fn new(accepted: Instant, limits: Limits, bodies: Arc<WaitingBodies>) -> Self {
        let inner = Arc::new(Mutex::new(Inner {
            limits,
            requests: 0,
            answers: 0,
            last_answer: 0,
            blocked: None,
            read_deadline: Some((accepted + limits.header_timeout, Reason::LateHead)),
            write_deadline: None,
        }));
        Self { inner, bodies, memory: Arc::default(), wake: Arc::default() }
    }

    /// Begins a request; it lasts until the returned value is dropped.
    pub(super) fn begin_request(&self) -> InFlightRequest {
        let mut inner = self.lock();
        inner.requests += 1;
        inner.read_deadline = None;
        InFlightRequest { activity: self.clone(), is_sending: false, length: 0 }
    }

    /// Notes that bytes of HTTP/1 were read. They are of a head if no request is in flight: its time counts from
    /// its first byte.
    pub(super) fn note_read(&self) {
        let mut inner = self.lock();
        if inner.requests == 0 && !inner.awaits_head() {
            let deadline = Instant::now() + inner.limits.header_timeout;
            inner.read_deadline = Some((deadline, Reason::LateHead));
        }
    }

    /// Waits no longer than `timeout` for a further request, and no more for a head that is under way.
    pub(super) fn expect_end(&self, timeout: Duration) {
        let mut inner = self.lock();
        inner.limits.idle_timeout = timeout;
        inner.read_deadline = None;
        inner.note_end();
    }

    /// Notes whether the socket takes no more for now, over HTTP/1.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        let mut inner = self.lock();
        if is_blocked {
            self.count_blocked(&mut inner);
            inner.read_deadline.take_if(|(_, reason)| *reason == Reason::Idle);
            inner.begin_to_send();
            self.wake.notify_one();
        } else {
            inner.blocked = None;
            inner.note_end();
        }
    }

    /// Counts what waits for a socket that takes no more: the last answer, and as much of others as hyper collects.
    fn count_blocked(&self, inner: &mut Inner) {
        inner.blocked = None;
        let length = inner.last_answer + MAX_HEAD as usize;
        inner.blocked = Some(self.bodies.add(&self.memory, length, Arc::clone(&self.wake)));
    }

    /// Counts the memory of a request over HTTP/2; `None` if there is no room for one more of this connection.
    pub(super) fn try_count_request(&self) -> Option<WaitingBody> {
        self.bodies.try_begin(&self.memory)
    }

    /// Notes that the client has taken `bytes` bytes. They extend its deadline by the time that they take at
    /// [`MIN_RATE`], up to the limit from now: so a client is late after the limit in silence, and also if it takes
    /// less than `MIN_RATE` for long.
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

    /// Resolves when a head is late, when no request has come for too long, or when the client takes its answers
    /// too slowly.
    pub(super) async fn wait_until_inactive(&self) -> Reason {
        loop {
            let wake = {
                let (now, inner) = (Instant::now(), self.lock());
                let Limits { header_timeout, idle_timeout, write_timeout, .. } = inner.limits;
                let blocked = inner.blocked.as_ref().map(|body| body.deadline(write_timeout));
                let write = inner.write_deadline.into_iter().chain(blocked);
                let write = write.map(|deadline| (deadline, Reason::Stalled));
                let next = write.chain(inner.read_deadline).min_by_key(|next| next.0);
                // Nothing that begins while this sleeps can end the connection before that, but for what wakes it.
                let later = now + idle_timeout.min(write_timeout).min(header_timeout);
                let later = if blocked.is_some() { later.min(now + SHORT_TIMEOUT) } else { later };
                match next {
                    Some((deadline, reason)) if deadline <= now => return reason,
                    next => next.map_or(later, |(deadline, _)| deadline.min(later)),
                }
            };
            tokio::select! {
                () = sleep_until(wake) => (),
                () = self.wake.notified() => (),
            }
        }
    }

    /// Returns the reasons for which the server ends the connection, as they come. Each is polled when it has something
    /// to say, and not whenever the client sends something.
    pub(super) fn reasons<'c>(&'c self, drain: &'c Drain) -> Reasons<'c> {
        let reasons = Reasons::new();
        reasons.push(Box::pin(self.wait_until_inactive()));
        reasons.push(Box::pin(async {
            drain.last_call().await;
            Reason::LastCall
        }));
        reasons
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Sets the deadline for the client to take something, unless there is one.
    fn begin_to_send(&mut self) {
        let limit = self.limits.write_timeout;
        self.write_deadline.get_or_insert_with(|| Instant::now() + limit);
    }

    /// Notes that a request has ended, or that the socket takes more again.
    fn note_end(&mut self) {
        let is_blocked = self.blocked.is_some();
        if self.answers == 0 && !is_blocked {
            self.write_deadline = None;
        }
        if self.requests == 0 && !self.awaits_head() && !is_blocked {
            self.read_deadline = Some((Instant::now() + self.limits.idle_timeout, Reason::Idle));
        }
    }

    fn awaits_head(&self) -> bool {
        self.read_deadline.is_some_and(|(_, reason)| reason == Reason::LateHead)
    }
}

/// One request whose answer has not been taken whole.
#[derive(Debug)]
pub(super) struct InFlightRequest {
    pub(super) activity: Activity,
    is_sending: bool,
    /// The length of its answer over HTTP/1, which is sent when the request has ended.
    pub(super) length: usize,
}

impl InFlightRequest {
    /// Notes that its answer over HTTP/2 is there, of which the client has taken nothing.
    pub(super) fn begin_answer(&mut self) {
        self.is_sending = true;
        let mut inner = self.activity.lock();
        inner.answers += 1;
        inner.begin_to_send();
    }

    /// Returns the number of bytes of its answer that are sent before other answers of the connection have their turn: at
    /// [`MIN_RATE`], each has one within the write timeout.
    pub(super) fn next_piece(&self) -> usize {
        let inner = self.activity.lock();
        let in_time = MIN_RATE.saturating_mul(inner.limits.write_timeout.as_secs());
        let share = usize::try_from(in_time).unwrap_or(MAX_PIECE) / inner.answers.max(1);
        share.clamp(MIN_PIECE, MAX_PIECE)
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let mut inner = self.activity.lock();
        inner.requests = inner.requests.saturating_sub(1);
        inner.answers = inner.answers.saturating_sub(usize::from(self.is_sending));
        inner.last_answer = self.length;
        if inner.blocked.is_some() {
            self.activity.count_blocked(&mut inner);
        }
        inner.note_end();
    }
}

#[cfg(test)]
mod tests;
