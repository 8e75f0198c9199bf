//! What a connection waits for: a head, the next request, or the client, which takes its answers; and until
//! when, so that one which waits for too long is closed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use crate::settings::Limits;

/// What a client must take of its answers, in bytes a second: enough for the slowest honest line.
const MIN_RATE: u64 = 1024;

/// Knows what a connection waits for. Its parts share it.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    /// Requests that are being answered, and, over HTTP/2, those whose answers are being sent.
    requests: usize,
    /// Those whose answers are being sent, over HTTP/2.
    answers: usize,
    /// Whether the socket takes no more, because the client does not.
    is_blocked: bool,
    /// When the head that is under way must be there. The first one is under way from the beginning.
    head_deadline: Option<Instant>,
    /// When a request last ended, or the socket took all that was written. It counts where neither is under way.
    since: Instant,
    /// When the client must have taken more of its answers, while there are `answers` or the socket is blocked.
    write_deadline: Instant,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inactivity {
    /// A head did not arrive in time.
    LateHead,
    /// No request came.
    Idle,
    /// The client takes too little of its answers.
    Stalled,
}

impl Activity {
    /// Creates that of a connection without requests, which was accepted at that moment.
    pub(super) fn new(accepted: Instant, limits: Limits) -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(Inner {
            limits,
            requests: 0,
            answers: 0,
            is_blocked: false,
            head_deadline: Some(accepted + limits.header_timeout),
            since: now,
            write_deadline: now,
        })))
    }

    /// Begins a request; it lasts until the returned value is dropped.
    pub(super) fn begin_request(&self) -> InFlightRequest {
        let mut inner = self.lock();
        inner.requests += 1;
        inner.head_deadline = None;
        InFlightRequest { activity: self.clone(), is_sending: false }
    }

    /// Notes that bytes of HTTP/1 were read. They are of a head if no request is in flight: its time counts from
    /// its first byte.
    pub(super) fn note_read(&self) {
        let mut inner = self.lock();
        if inner.requests == 0 {
            let limit = inner.limits.header_timeout;
            inner.head_deadline.get_or_insert_with(|| Instant::now() + limit);
        }
    }

    /// Stops to wait for a head that is late.
    pub(super) fn give_up_head(&self) {
        self.lock().head_deadline = None;
    }

    /// Notes whether the socket takes no more for now.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        let mut inner = self.lock();
        if is_blocked {
            inner.begin_to_send();
        } else {
            inner.since = Instant::now();
        }
        inner.is_blocked = is_blocked;
    }

    /// Notes that the client has taken so many bytes. They give it the time that they take at [`MIN_RATE`], but it
    /// never has more than the limit: so it is late after the limit in silence, and also if it takes less than
    /// `MIN_RATE` for long.
    pub(super) fn note_written(&self, bytes: usize) {
        let mut inner = self.lock();
        if inner.is_sending() {
            let gained = (bytes as u64).saturating_mul(1_000_000) / MIN_RATE;
            let limit = inner.limits.write_timeout;
            let later = inner.write_deadline + Duration::from_micros(gained).min(limit);
            inner.write_deadline = later.min(Instant::now() + limit);
        }
    }

    /// Resolves when a head is late, when there has been no request for `idle` from now on, or when the client
    /// takes its answers too slowly.
    pub(super) async fn wait_until_inactive(&self, idle: Duration) -> Inactivity {
        let began = Instant::now();
        loop {
            let wake = {
                let (now, inner) = (Instant::now(), self.lock());
                let is_idle =
                    inner.requests == 0 && inner.head_deadline.is_none() && !inner.is_blocked;
                let deadlines = [
                    inner.is_sending().then_some((inner.write_deadline, Inactivity::Stalled)),
                    inner.head_deadline.map(|deadline| (deadline, Inactivity::LateHead)),
                    is_idle.then(|| (inner.since.max(began) + idle, Inactivity::Idle)),
                ];
                let Limits { header_timeout, write_timeout, .. } = inner.limits;
                // Nothing that begins while this sleeps can end the connection before that.
                let later = now + idle.min(write_timeout).min(header_timeout);
                match deadlines.into_iter().flatten().min_by_key(|(deadline, _)| *deadline) {
                    Some((deadline, inactivity)) if deadline <= now => return inactivity,
                    next => next.map_or(later, |(deadline, _)| deadline.min(later)),
                }
            };
            sleep_until(wake).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn is_sending(&self) -> bool {
        self.answers > 0 || self.is_blocked
    }

    fn begin_to_send(&mut self) {
        if !self.is_sending() {
            self.write_deadline = Instant::now() + self.limits.write_timeout;
        }
    }
}

/// One request whose answer has not been taken whole.
#[derive(Debug)]
pub(super) struct InFlightRequest {
    activity: Activity,
    is_sending: bool,
}

impl InFlightRequest {
    /// Notes that its answer is there, of which the client has taken nothing.
    pub(super) fn begin_answer(&mut self) {
        self.is_sending = true;
        let mut inner = self.activity.lock();
        inner.begin_to_send();
        inner.answers += 1;
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let mut inner = self.activity.lock();
        inner.requests = inner.requests.saturating_sub(1);
        inner.answers = inner.answers.saturating_sub(usize::from(self.is_sending));
        inner.since = Instant::now();
    }
}

#[cfg(test)]
mod tests;
