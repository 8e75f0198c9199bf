//! How many requests an HTTP/2 connection has in flight, and how quickly the client takes the answers,
//! so that an idle or stalled connection is closed.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
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

    /// Resolves when there has been no request for `idle`, or the client takes its answers too slowly.
    pub(super) async fn wait_until_inactive(&self, idle: Duration) -> Inactivity {
        loop {
            let wake = {
                let (now, state) = (Instant::now(), self.lock());
                // No state that begins while this sleeps can end the connection before that.
                let later = now + idle.min(state.write_timeout);
                let (deadline, inactivity) = match *state {
                    Now { answers: 1.., pace, .. } => (pace.deadline(), Inactivity::Stalled),
                    Now { requests: 1.., .. } => (later, Inactivity::Stalled),
                    Now { since, .. } => (since + idle, Inactivity::Idle),
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

/// One request whose answer is being sent.
#[derive(Debug)]
struct InFlightAnswer(InFlightRequest);

impl InFlightAnswer {
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

/// A response body whose request is in flight until its bytes have been sent.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Full<Bytes>,
    /// Goes with the bytes.
    answer: Option<InFlightAnswer>,
}

/// The bytes of a response. h2 takes them all at once, and keeps them while the client's windows are
/// closed; it advances through them as it sends them.
#[derive(Debug)]
pub(super) struct CountedBytes {
    bytes: Bytes,
    answer: Option<InFlightAnswer>,
}

impl CountedBody {
    pub(super) fn new(body: Full<Bytes>, request: InFlightRequest) -> Self {
        Self { body, answer: Some(InFlightAnswer::new(request)) }
    }
}

impl Body for CountedBody {
    type Data = CountedBytes;
    type Error = <Full<Bytes> as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<CountedBytes>, Self::Error>>> {
        let Self { body, answer } = &mut *self;
        let count = |bytes| CountedBytes { bytes, answer: answer.take() };
        Pin::new(body).poll_frame(cx).map_ok(|frame| frame.map_data(count))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
        if let Some(answer) = &self.answer {
            answer.lock().pace.take(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::{Buf as _, Bytes};
    use http_body_util::{BodyExt as _, Full};
    use tokio::time::{Instant, advance};

    use super::{CountedBody, InFlight, Inactivity};

    const IDLE: Duration = Duration::from_secs(10);
    const WRITE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_becomes_idle() {
        let in_flight = InFlight::new(WRITE);
        advance(Duration::from_secs(4)).await;
        drop(in_flight.begin());
        let began = Instant::now();
        assert_eq!(in_flight.wait_until_inactive(IDLE).await, Inactivity::Idle);
        assert!(began.elapsed() >= IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_being_answered_keeps_its_connection() {
        let in_flight = InFlight::new(WRITE);
        let request = in_flight.begin();
        let waiting = tokio::spawn(async move { in_flight.wait_until_inactive(IDLE).await });
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert!(!waiting.is_finished());
        drop(request);
        let began = Instant::now();
        assert_eq!(waiting.await.unwrap(), Inactivity::Idle);
        assert!(began.elapsed() <= IDLE + Duration::from_millis(2));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_in_flight_until_its_bytes_are_gone_and_stalls_when_none_go() {
        let in_flight = InFlight::new(WRITE);
        let mut body =
            CountedBody::new(Full::new(Bytes::from(vec![0; 1 << 20])), in_flight.begin());
        let mut bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        let began = Instant::now();
        let sending = async {
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                bytes.advance(2000);
            }
            std::future::pending::<()>().await;
        };
        let inactivity = tokio::select! {
            inactivity = in_flight.wait_until_inactive(IDLE) => inactivity,
            () = sending => unreachable!("it never ends"),
        };
        assert_eq!(inactivity, Inactivity::Stalled);
        let expected = Duration::from_secs(100) + WRITE;
        assert!(began.elapsed() >= expected && began.elapsed() < expected + IDLE);
        drop(bytes);
        assert_eq!(in_flight.wait_until_inactive(IDLE).await, Inactivity::Idle);
    }
}
