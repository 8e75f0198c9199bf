//! The bytes of one connection: any stream, of which the first bytes have been read already, and
//! which gives up on a client that takes nothing, or too little.

use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep_until},
};

use super::{head_buffer::HeadBuffer, pace::Pace};

/// What is read at a time, in bytes, where heads are held back.
const READ: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct Stream<S> {
    io: S,
    /// Read before, and to be read again.
    first_bytes: Bytes,
    /// Holds unfinished heads back, over HTTP/2.
    heads: Option<HeadBuffer>,
    write_timeout: Duration,
    /// There while not all that was written has been taken.
    backlog: Option<Backlog>,
}

#[derive(Debug)]
struct Backlog {
    pace: Pace,
    deadline: Pin<Box<Sleep>>,
}

impl<S> Stream<S> {
    /// `io` behind `first_bytes`. A write fails when the client keeps no [`Pace`] within
    /// `write_timeout`.
    pub(super) fn new(io: S, first_bytes: Bytes, write_timeout: Duration) -> Self {
        Self { io, first_bytes, heads: None, write_timeout, backlog: None }
    }

    /// The same, of which the heads of requests that follow `first_bytes` can be read when they are
    /// whole.
    pub(super) fn with_whole_heads(self, heads: HeadBuffer) -> Self {
        Self { heads: Some(heads), ..self }
    }

    /// Passes on what a write came to, unless the client has taken too little for too long.
    fn watch_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match (&mut self.backlog, &written) {
            (Some(backlog), Poll::Ready(Ok(bytes))) => backlog.pace.take(*bytes),
            (_, Poll::Ready(_)) => (),
            (_, Poll::Pending) => return self.wait(cx),
        }
        written
    }

    /// The same for what ends a backlog.
    fn watch_flush(
        &mut self,
        cx: &mut Context<'_>,
        flushed: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        if flushed.is_pending() {
            return self.wait(cx);
        }
        self.backlog = None;
        flushed
    }

    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let Backlog { pace, deadline } = self.backlog.get_or_insert_with(|| {
            let pace = Pace::new(self.write_timeout);
            Backlog { pace, deadline: Box::pin(sleep_until(pace.deadline())) }
        });
        if deadline.deadline() != pace.deadline() {
            deadline.as_mut().reset(pace.deadline());
        }
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, first_bytes, heads, .. } = &mut *self;
        if !first_bytes.is_empty() {
            let length = first_bytes.len().min(buffer.remaining());
            buffer.put_slice(&first_bytes.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let Some(heads) = heads else { return Pin::new(io).poll_read(cx, buffer) };
        while !heads.release(buffer) {
            // Not into `buffer`, whose memory h2 keeps.
            let mut space = [MaybeUninit::uninit(); READ];
            let mut arrived = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *io).poll_read(cx, &mut arrived))?;
            if arrived.filled().is_empty() {
                break;
            }
            heads.push(arrived.filled())?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buffer);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, buffers);
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.watch_flush(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.io).poll_shutdown(cx);
        self.watch_flush(cx, ended)
    }
}
