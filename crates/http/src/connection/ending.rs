//! How connections end: when they learn that the server drains, and so that the client can read the last answer.
//!
//! A socket that is closed while bytes lie unread in it resets the connection, and the client may
//! lose an answer that it has not read yet. So the server ends its own direction first and takes,
//! for a while, what the client still sends.
//!
//! Over HTTP/2 the same goes for a stream: it is reset if its request is dropped while the client still sends, and
//! some clients lose an answer that is followed by a reset (curl 7.88 does).

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::Semaphore,
    time::{sleep, timeout},
};

/// After the drain begins, an idle connection is kept this long: a request that is already on its
/// way is answered, and a load balancer that asks on it sees that the service is not ready.
const LAST_CALL: Duration = Duration::from_millis(500);

/// The most bytes that are read and dropped, of a connection or of a body.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The longest time for that.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The longest time in which nothing arrives.
const MAX_SILENCE: Duration = Duration::from_secs(1);

/// Whether the drain of the server has begun. It is a semaphore without permits, which is closed then: each request asks,
/// and that is one atomic load.
#[derive(Debug)]
pub(crate) struct Drain(Semaphore);

impl Drain {
    /// Creates a drain that has not begun.
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(0))
    }

    /// Begins the drain: from now on the service is not ready, and connections are asked to close.
    pub(crate) fn begin(&self) {
        self.0.close();
    }

    /// Returns whether the drain has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_closed()
    }

    /// Resolves when the drain begins.
    pub(crate) async fn begun(&self) {
        // There are no permits, so it ends when the semaphore is closed.
        let _ = self.0.acquire().await;
    }

    /// Resolves when idle connections close: [`LAST_CALL`] after the drain began.
    pub(super) async fn last_call(&self) {
        self.begun().await;
        sleep(LAST_CALL).await;
    }
}

/// Writes `last_words`, ends the server's direction, and returns when the client has closed or a limit is reached.
pub(super) async fn linger<S>(stream: &mut S, last_words: &[u8])
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // On the heap: a connection that does not linger must not carry it.
    let mut space = vec![0; 4096];
    let end = async {
        let _ = stream.write_all(last_words).await;
        let _ = stream.shutdown().await;
        let mut taken = 0;
        while taken < MAX_BYTES
            && let Ok(Ok(length @ 1..)) = timeout(MAX_SILENCE, stream.read(&mut space)).await
        {
            taken += length;
        }
    };
    let _ = timeout(MAX_TIME, end).await;
}

/// Takes what the client still sends of a body that nobody reads, until it ends or a limit is reached.
pub(super) async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let take_all = async {
        let mut taken = 0;
        while taken < MAX_BYTES
            && let Ok(Some(Ok(frame))) = timeout(MAX_SILENCE, body.frame()).await
        {
            taken += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = timeout(MAX_TIME, take_all).await;
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::Arc, time::Duration};

    use tokio::time::{Instant, pause, sleep};

    use super::{Drain, LAST_CALL};

    #[tokio::test]
    async fn the_last_call_comes_a_while_after_the_signal_however_often_it_was_asked_for() {
        pause();
        let signal = Arc::new(Drain::new());
        let busy = Arc::clone(&signal);
        let waiting = tokio::spawn(async move {
            let mut last_call = pin!(busy.last_call());
            for _ in 0..5 {
                tokio::select! {
                    () = &mut last_call => unreachable!("nobody has called"),
                    () = sleep(Duration::from_secs(1)) => (),
                }
            }
            last_call.await;
            Instant::now()
        });
        sleep(Duration::from_secs(7)).await;
        let called = Instant::now();
        signal.begin();
        // Timers count whole milliseconds.
        let in_time = LAST_CALL..LAST_CALL + Duration::from_millis(2);
        assert!(in_time.contains(&(waiting.await.unwrap() - called)));
        let asked = Instant::now();
        signal.last_call().await;
        assert!(in_time.contains(&asked.elapsed()));
    }
}
