//! Closing so that the client can read the last answer.
//!
//! A socket that is closed while bytes lie unread in it resets the connection, and the client may
//! lose an answer that it has not read yet. So the server ends its own direction first and takes,
//! for a while, what the client still sends.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

/// The most bytes taken.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The longest time in all.
const MOST_TIME: Duration = Duration::from_secs(5);
/// The longest time in which nothing arrives.
const MOST_SILENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Linger {
    bytes_left: usize,
    end: Instant,
    silence: Pin<Box<Sleep>>,
}

impl Linger {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            bytes_left: MOST_BYTES,
            end: now + MOST_TIME,
            silence: Box::pin(sleep_until(now + MOST_SILENCE)),
        }
    }

    /// Takes what arrives and shows it to `arrived`, which says when there is nothing more to wait
    /// for. Ready when the client has closed, or a limit is reached.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        mut arrived: impl FnMut(&[u8]) -> bool,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(read) => read?,
                Poll::Pending => {
                    ready!(self.silence.as_mut().poll(cx));
                    return Poll::Ready(Ok(()));
                }
            }
            let taken = buffer.filled();
            self.bytes_left = self.bytes_left.saturating_sub(taken.len());
            if taken.is_empty() || self.bytes_left == 0 || arrived(taken) {
                return Poll::Ready(Ok(()));
            }
            self.silence.as_mut().reset(self.end.min(Instant::now() + MOST_SILENCE));
        }
    }
}
