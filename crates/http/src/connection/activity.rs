//! What an HTTP/2 connection is busy with, so that it can be told from one that is only held open.

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

/// Counts the requests of a connection that are not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Mutex<Now>>);

#[derive(Debug)]
struct Now {
    unanswered: usize,
    /// When a request last began or ended.
    since: Instant,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inactivity {
    /// No request came.
    Idle,
    /// There are requests, and none of them gets anywhere: the client takes no answer.
    Stalled,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Now { unanswered: 0, since: Instant::now() })))
    }

    /// A request has begun; it lasts until the returned value, or the body it is put into, is gone.
    pub(super) fn begin(&self) -> Unanswered {
        self.change(|unanswered| unanswered + 1);
        Unanswered(self.clone())
    }

    /// Resolves when nothing has begun or ended for `idle` without, or `stalled` with, requests.
    pub(super) async fn ceased(&self, idle: Duration, stalled: Duration) -> Inactivity {
        loop {
            let (deadline, inactivity) = {
                let now = self.lock();
                match now.unanswered {
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
        now.unanswered = count(now.unanswered);
        now.since = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request without its whole answer.
#[derive(Debug)]
pub(super) struct Unanswered(Activity);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.change(|unanswered| unanswered.saturating_sub(1));
    }
}

/// A response body that counts as unanswered until the connection has taken it.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Full<Bytes>,
    _unanswered: Unanswered,
}

impl CountedBody {
    pub(super) fn new(body: Full<Bytes>, unanswered: Unanswered) -> Self {
        Self { body, _unanswered: unanswered }
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

    use super::{Activity, Inactivity};

    const IDLE: Duration = Duration::from_secs(10);
    const STALLED: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_connection_without_requests_becomes_idle() {
        pause();
        let activity = Activity::new();
        advance(Duration::from_secs(4)).await;
        drop(activity.begin());
        let began = Instant::now();
        assert_eq!(activity.ceased(IDLE, STALLED).await, Inactivity::Idle);
        assert!(began.elapsed() >= IDLE);
    }

    #[tokio::test]
    async fn a_connection_whose_requests_get_nowhere_is_stalled() {
        pause();
        let activity = Activity::new();
        let _first = activity.begin();
        advance(Duration::from_secs(59)).await;
        drop(activity.begin()); // Another one gets somewhere.
        let began = Instant::now();
        assert_eq!(activity.ceased(IDLE, STALLED).await, Inactivity::Stalled);
        assert!(began.elapsed() >= STALLED);
    }
}
