//! The ends of connections: the drain of the server, and an orderly close.
//!
//! Closing a socket with unread bytes resets the connection, and the client may lose the last response. So the server
//! first shuts down its write side, then reads and drops further bytes for a while. Over HTTP/2, a request body that is
//! dropped before its end resets the stream, and some clients, such as curl 7.88, then lose the response. So the rest
//! of the body is read and dropped too.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::Semaphore,
    time::{sleep, timeout},
};

/// The largest number of bytes that are read and dropped, of a connection or of a body.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The longest time for which bytes are read and dropped.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The longest time without a byte from the client.
const MAX_SILENCE: Duration = Duration::from_secs(1);

/// The state of the drain, in which the server finishes its requests and ends: begun or not.
#[derive(Debug)]
pub(crate) struct Drain {
    /// A semaphore without permits, closed when the drain begins. Each request checks it with one atomic load.
    begun: Semaphore,
    /// [`Limits::shutdown_delay`](crate::Limits::shutdown_delay).
    delay: Duration,
}

impl Drain {
    /// Creates a drain that has not begun.
    pub(crate) fn new(delay: Duration) -> Self {
        Self { begun: Semaphore::new(0), delay }
    }

    /// Begins the drain. From now on the service is not ready, and responses ask clients to close their connections.
    pub(crate) fn begin(&self) {
        self.begun.close();
    }

    /// Returns whether the drain has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_closed()
    }

    /// Resolves when idle connections must be closed: `delay` after the start of the drain, or after the call if the
    /// drain has begun before. The delay gives a load balancer the time to see that the service is not ready.
    pub(crate) async fn last_call(&self) {
        // There are no permits, so `acquire` returns when the semaphore is closed.
        let _ = self.begun.acquire().await;
        sleep(self.delay).await;
    }
}

/// Writes `last_words`, shuts down the write side, and reads until the client closes the connection or a limit is
/// reached.
pub(super) async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin, last_words: &[u8]) {
    // On the heap, so that the future of an idle connection stays small.
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

/// Reads and drops the rest of `body` until it ends or a limit is reached.
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
    use tokio::time::Instant;

    use super::{Drain, Duration, timeout};

    #[tokio::test(start_paused = true)]
    async fn the_last_call_comes_after_the_delay_of_the_drain() {
        let delay = Duration::from_millis(700);
        let drain = Drain::new(delay);
        let early = timeout(Duration::from_secs(5), drain.last_call()).await;
        assert!(early.is_err(), "the drain has not begun");
        for _ in 0..2 {
            let called = Instant::now();
            tokio::join!(drain.last_call(), async { drain.begin() });
            let took = called.elapsed();
            // Timers count whole milliseconds.
            assert!((delay..delay + Duration::from_millis(2)).contains(&took), "{took:?}");
        }
    }
}
