//! How many requests an HTTP/2 connection has in flight, and how quickly the client takes the answers,
//! so that an idle or stalled connection is closed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::time::{Instant, sleep_until};

use super::pace::Pace;

/// Counts the requests of a connection whose answers the client has not taken whole yet.
#[derive(Clone, Debug)]
pub(super) struct InFlight(Arc<Mutex<Now>>);

#[derive(Debug)]
struct Now {
    /// Those being answered, and those whose answers are being sent.
    requests: usize,
    /// Those whose answers are being sent.
    answers: usize,
    /// When a request last began or ended.
    since: Instant,
    /// Of the answers that are being sent, together.
    pace: Pace,
    /// How long the client may take nothing of them.
    write_timeout: Duration,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inactivity {
    /// No request came.
    Idle,
    /// The client takes too little of the answers that are being sent.
    Stalled,
}

impl InFlight {
    /// No request is in flight; a client keeps its [`Pace`] within `write_timeout`.
    pub(super) fn new(write_timeout: Duration) -> Self {
        let (since, pace) = (Instant::now(), Pace::new(write_timeout));
        Self(Arc::new(Mutex::new(Now { requests: 0, answers: 0, since, pace, write_timeout })))
    }

    /// A request has begun; it lasts until the returned value, or what it is put into, is gone.
    pub(super) fn begin(&self) -> InFlightRequest {
        let mut now = self.lock();
        now.requests += 1;
        now.since = Instant::now();
        InFlightRequest(self.clone())
    }

    /// Resolves when there has been no request for `idle` from now on, or the client takes its answers too
    /// slowly.
    pub(super) async fn wait_until_inactive(&self, idle: Duration) -> Inactivity {
        let began = Instant::now();
        loop {
            let wake = {
                let (now, state) = (Instant::now(), self.lock());
                // No state that begins while this sleeps can end the connection before that.
                let later = now + idle.min(state.write_timeout);
                let (deadline, inactivity) = match *state {
                    Now { answers: 1.., pace, .. } => (pace.deadline(), Inactivity::Stalled),
                    Now { requests: 1.., .. } => (later, Inactivity::Stalled),
                    Now { since, .. } => (since.max(began) + idle, Inactivity::Idle),
                };
                if deadline <= now {
                    return inactivity;
                }
                deadline.min(later)
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
            now.pace = Pace::new(now.write_timeout);
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
