//! The byte stream of one connection. The first bytes have been read already, to detect the version of HTTP.
//!
//! Over HTTP/1, reads and writes move the deadlines of the connection. Over HTTP/2, the module `http2` moves them.

use std::{
    io::{self, Cursor, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Chain, ReadBuf};

use super::activity::Activity;

/// The bytes of a connection, in both directions.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A stream that reports to an [`Activity`]: reads, whether the socket is blocked, and writes while it is blocked.
pub(super) struct Stream {
    /// The first bytes, followed by the bytes of the socket.
    io: Chain<Cursor<Bytes>, Box<dyn Io>>,
    /// `None` over HTTP/2.
    activity: Option<Arc<Activity>>,
    /// `true` from the time when the socket takes no more bytes until a flush or a shutdown is done.
    is_blocked: bool,
}

impl Stream {
    /// Creates a stream of `first_bytes`, followed by the bytes of `io`.
    pub(super) fn new(
        io: Box<dyn Io>,
        first_bytes: Bytes,
        activity: Option<Arc<Activity>>,
    ) -> Self {
        Self { io: AsyncReadExt::chain(Cursor::new(first_bytes), io), activity, is_blocked: false }
    }

    fn note_write(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match (&written, &self.activity) {
            (Poll::Ready(Ok(bytes)), Some(activity)) if self.is_blocked => {
                activity.note_written(*bytes);
            }
            (Poll::Pending, _) => self.set_blocked(true),
            (Poll::Ready(_), _) => (),
        }
        written
    }

    fn set_blocked(&mut self, is_blocked: bool) {
        if let Some(activity) = &self.activity
            && self.is_blocked != is_blocked
        {
            self.is_blocked = is_blocked;
            activity.set_blocked(is_blocked);
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if let Some(activity) = &self.activity
            && buffer.filled().len() > before
        {
            activity.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.io.get_mut().1).poll_write(cx, buffer);
        self.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.io.get_mut().1).poll_write_vectored(cx, buffers);
        self.note_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.get_ref().1.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(self.io.get_mut().1).poll_flush(cx);
        self.set_blocked(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(self.io.get_mut().1).poll_shutdown(cx);
        self.set_blocked(ended.is_pending());
        ended
    }
}
