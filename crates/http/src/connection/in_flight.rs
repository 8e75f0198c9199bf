//! What a connection waits for: a head, the next request, or the client, which takes its answers; and until
//! when, so that one which waits for too long is closed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::time::{Instant, sleep_until};

use super::pace::Pace;
use crate::settings::Limits;

/// Counts the requests of a connection whose answers the client has not taken whole yet, and knows whether
/// a head is under way.
#[derive(Clone, Debug)]
pub(super) struct InFlight(Arc<Mutex<Now>>);

#[derive(Debug)]
struct Now {
    /// Those being answered, and, over HTTP/2, those whose answers are being sent.
    requests: usize,
    /// Those whose answers are being sent, over HTTP/2.
    answers: usize,
    /// Whether there has been a request.
    has_begun: bool,
    /// When the head that is under way must be there. The first one is under way from the beginning.
    head_deadline: Option<Instant>,
    /// Whether the client has not taken all that was written to the connection.
    has_backlog: bool,
    /// When a request last began or ended, or a backlog did.
    since: Instant,
    /// Of the answers that are being sent, together.
    pace: Pace,
    limits: Limits,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inactivity {
    /// A head did not arrive in time.
    LateHead,
    /// No request came.
    Idle,
    /// The client takes too little of the answers that are being sent.
    Stalled,
}

impl InFlight {
    /// No request is in flight on a connection that was accepted at that moment.
    pub(super) fn new(accepted: Instant, limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Now {
            requests: 0,
            answers: 0,
            has_begun: false,
            has_backlog: false,
            head_deadline: Some(accepted + limits.header_timeout),
            since: Instant::now(),
            pace: Pace::new(limits.write_timeout),
            limits,
        })))
    }

    /// A request has begun; it lasts until the returned value, or what it is put into, is gone.
    pub(super) fn begin(&self) -> InFlightRequest {
        let mut now = self.lock();
        now.requests += 1;
        now.since = Instant::now();
        if !now.has_begun {
            now.has_begun = true;
            now.head_deadline = None;
        }
        InFlightRequest(self.clone())
    }

    /// A part of a head has arrived, or nothing of one is there that is not whole. The time for a head counts from
    /// its first byte; that for the first one goes on until there is a request.
    pub(super) fn note_head(&self, is_under_way: bool) {
        let mut now = self.lock();
        if is_under_way {
            let limit = now.limits.header_timeout;
            now.head_deadline.get_or_insert_with(|| Instant::now() + limit);
        } else if now.has_begun {
            now.head_deadline = None;
        }
    }

    /// A head that is late is not waited for any more.
    pub(super) fn give_up_head(&self) {
        self.lock().head_deadline = None;
    }

    /// Bytes of HTTP/1 were read; whether they are of a head, as no request is in flight.
    pub(super) fn note_bytes(&self) -> bool {
        let is_head = self.lock().requests == 0;
        if is_head {
            self.note_head(true);
        }
        is_head
    }

    /// The client has, or has no longer, to take what was written before anything else is waited for. It has a time
    /// of its own for that.
    pub(super) fn note_backlog(&self, is_there: bool) {
        let mut now = self.lock();
        now.has_backlog = is_there;
        now.since = Instant::now();
    }

    /// Resolves when a head is late, when there has been no request for `idle` from now on, or when the client
    /// takes its answers too slowly.
    pub(super) async fn wait_until_inactive(&self, idle: Duration) -> Inactivity {
        let began = Instant::now();
        loop {
            let wake = {
                let (now, state) = (Instant::now(), self.lock());
                let Limits { header_timeout, write_timeout, .. } = state.limits;
                // No state that begins while this sleeps can end the connection before that.
                let later = now + idle.min(write_timeout).min(header_timeout);
                let is_idle =
                    state.requests == 0 && state.head_deadline.is_none() && !state.has_backlog;
                let deadlines = [
                    (state.answers > 0).then(|| (state.pace.deadline(), Inactivity::Stalled)),
                    state.head_deadline.map(|deadline| (deadline, Inactivity::LateHead)),
                    is_idle.then(|| (state.since.max(began) + idle, Inactivity::Idle)),
                ];
                match deadlines.into_iter().flatten().min_by_key(|(deadline, _)| *deadline) {
                    Some((deadline, inactivity)) if deadline <= now => return inactivity,
                    next => next.map_or(later, |(deadline, _)| deadline.min(later)),
                }
            };
            sleep_until(wake).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request whose answer has not been taken whole.
#[derive(Debug)]
pub(super) struct InFlightRequest(InFlight);

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let mut now = self.0.lock();
        now.requests = now.requests.saturating_sub(1);
        now.since = Instant::now();
    }
}

/// The body of a response, whose request is in flight until this is gone. h2 takes the bytes all at once,
/// keeps them while the client's windows are closed, and advances through them as it sends them.
#[derive(Debug)]
pub(super) struct CountedBytes {
    bytes: Bytes,
    answer: InFlightAnswer,
}

impl CountedBytes {
    /// The body of the answer to `request`.
    pub(super) fn new(bytes: Bytes, request: InFlightRequest) -> Self {
        Self { bytes, answer: InFlightAnswer::new(request) }
    }
}

impl Buf for CountedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.answer.take(count);
    }
}

/// One request whose answer is being sent.
#[derive(Debug)]
struct InFlightAnswer(InFlightRequest);

impl InFlightAnswer {
    /// The answer to `request`, of which nothing has been sent.
    fn new(request: InFlightRequest) -> Self {
        let InFlightRequest(in_flight) = &request;
        let mut now = in_flight.lock();
        if now.answers == 0 {
            now.pace = Pace::new(now.limits.write_timeout);
        }
        now.answers += 1;
        drop(now);
        Self(request)
    }

    /// So many of its bytes have been sent.
    fn take(&self, bytes: usize) {
        self.lock().pace.take(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        let Self(InFlightRequest(in_flight)) = self;
        in_flight.lock()
    }
}

impl Drop for InFlightAnswer {
    fn drop(&mut self) {
        let mut now = self.lock();
        now.answers = now.answers.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
