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

use super::{head_buffer::HeadBuffer, in_flight::InFlight, pace::Pace};

/// What is read at a time, in bytes, where heads are held back.
const READ: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct Stream<S> {
    io: S,
    /// What has arrived and is still to be read.
    unread: Bytes,
    /// Holds unfinished heads back, over HTTP/2.
    heads: Option<HeadBuffer>,
    write_timeout: Duration,
    /// Is told what is read and written.
    in_flight: InFlight,
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
    pub(super) fn new(
        io: S,
        first_bytes: Bytes,
        write_timeout: Duration,
        in_flight: InFlight,
    ) -> Self {
        Self { io, unread: first_bytes, heads: None, write_timeout, in_flight, backlog: None }
    }

    /// The same, of which the heads of requests that follow `first_bytes` can be read when they are
    /// whole.
    pub(super) fn with_whole_heads(self, heads: HeadBuffer) -> Self {
        Self { heads: Some(heads), ..self }
    }

    /// Whether something has arrived that was not read.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Of what was read into `buffer` after `begin`, in HTTP/1, takes back what follows the last whole head. If it is a
    /// part of another head, its time counts from when it is read again.
    fn hold_back_after_heads(&mut self, buffer: &mut ReadBuf<'_>, begin: usize) {
        const END: &[u8] = b"\r\n\r\n";
        let arrived = &buffer.filled()[begin..];
        if arrived.ends_with(END) {
            return;
        }
        if let Some(at) = arrived.windows(END.len()).rposition(|bytes| bytes == END) {
            let end = at + END.len();
            self.unread = [&arrived[end..], &self.unread].concat().into();
            buffer.set_filled(begin + end);
        }
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
        if self.backlog.take().is_some() {
            self.in_flight.note_backlog(false);
        }
        flushed
    }

    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let Backlog { pace, deadline } = self.backlog.get_or_insert_with(|| {
            self.in_flight.note_backlog(true);
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
        let Self { io, unread, heads, in_flight, .. } = &mut *self;
        let before = buffer.filled().len();
        if !unread.is_empty() {
            let length = unread.len().min(buffer.remaining());
            buffer.put_slice(&unread.split_to(length));
        } else if heads.is_none() {
            ready!(Pin::new(&mut *io).poll_read(cx, buffer))?;
        }
        let Some(heads) = heads else {
            if buffer.filled().len() > before && in_flight.note_bytes() {
                self.hold_back_after_heads(buffer, before);
            }
            return Poll::Ready(Ok(()));
        };
        if buffer.filled().len() > before {
            return Poll::Ready(Ok(()));
        }
        while !heads.release(buffer) {
            // Not into `buffer`, whose memory h2 keeps.
            let mut space = [MaybeUninit::uninit(); READ];
            let mut arrived = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *io).poll_read(cx, &mut arrived))?;
            if arrived.filled().is_empty() {
                break;
            }
            heads.push(arrived.filled())?;
            in_flight.note_head(heads.is_unfinished());
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
