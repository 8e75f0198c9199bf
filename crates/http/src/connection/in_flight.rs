//! How many requests an HTTP/2 connection has in flight, so that an idle or stalled one is closed.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

/// Counts the requests of a connection whose answers are not whole yet.
#[derive(Clone, Debug)]
pub(super) struct InFlight(Arc<Mutex<Now>>);

#[derive(Debug)]
struct Now {
    requests: usize,
    /// When a request last began or ended.
    since: Instant,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inactivity {
    /// No request came.
    Idle,
    /// There are requests, and none of them makes progress: the client takes no answer.
    Stalled,
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Now { requests: 0, since: Instant::now() })))
    }

    /// A request has begun; it lasts until the returned value, or the body it is put into, is gone.
    pub(super) fn begin(&self) -> InFlightRequest {
        self.change(|requests| requests + 1);
        InFlightRequest(self.clone())
    }

    /// Resolves when nothing has begun or ended for `idle` without, or `stalled` with, requests.
    pub(super) async fn wait_until_idle(&self, idle: Duration, stalled: Duration) -> Inactivity {
        loop {
            let (deadline, inactivity) = {
                let now = self.lock();
                match now.requests {
                    0 => (now.since + idle, Inactivity::Idle),
                    _ => (now.since + stalled, Inactivity::Stalled),
                }
            };
            if deadline <= Instant::now() {
                return inactivity;
            }
            sleep_until(deadline.min(Instant::now() + idle)).await;
        }
    }

    fn change(&self, count: impl FnOnce(usize) -> usize) {
        let mut now = self.lock();
        now.requests = count(now.requests);
        now.since = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request without its whole answer.
#[derive(Debug)]
pub(super) struct InFlightRequest(InFlight);

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.change(|requests| requests.saturating_sub(1));
    }
}

/// A response body that counts as in flight until the connection has taken it.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Full<Bytes>,
    _request: InFlightRequest,
}

impl CountedBody {
    pub(super) fn new(body: Full<Bytes>, request: InFlightRequest) -> Self {
        Self { body, _request: request }
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = <Full<Bytes> as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance, pause};

    use super::{InFlight, Inactivity};

    const IDLE: Duration = Duration::from_secs(10);
    const STALLED: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_connection_without_requests_becomes_idle() {
        pause();
        let in_flight = InFlight::new();
        advance(Duration::from_secs(4)).await;
        drop(in_flight.begin());
        let began = Instant::now();
        assert_eq!(in_flight.wait_until_idle(IDLE, STALLED).await, Inactivity::Idle);
        assert!(began.elapsed() >= IDLE);
    }

    #[tokio::test]
    async fn a_connection_whose_requests_make_no_progress_is_stalled() {
        pause();
        let in_flight = InFlight::new();
        let _first = in_flight.begin();
        advance(Duration::from_secs(59)).await;
        drop(in_flight.begin()); // Another one makes progress.
        let began = Instant::now();
        assert_eq!(in_flight.wait_until_idle(IDLE, STALLED).await, Inactivity::Stalled);
        assert!(began.elapsed() >= STALLED);
    }
}
