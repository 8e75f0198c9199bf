//! The bytes of one connection: a TCP stream that gives up on a client who takes nothing, keeps
//! note of HTTP/1 heads, and closes so that the last answer can be read.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{heads::Heads, linger::Linger};

/// The heads of a connection, seen by its transport and by its service.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedHeads(Arc<Mutex<Heads>>);

impl SharedHeads {
    pub(super) fn lock(&self) -> MutexGuard<'_, Heads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    /// Kept in HTTP/1 only.
    heads: Option<SharedHeads>,
    write_timeout: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

impl Transport {
    pub(super) fn new(stream: TcpStream, write_timeout: Duration) -> Self {
        Self { stream, heads: None, write_timeout, stalled: None, linger: None }
    }

    pub(super) fn noting_heads(self, heads: SharedHeads) -> Self {
        Self { heads: Some(heads), ..self }
    }

    /// Passes on what a write came to, unless the client has taken nothing for too long.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no answer")))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if let Some(heads) = &self.heads {
            heads.lock().feed(&buffer.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buffer);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, heads, linger, .. } = &mut *self;
        let Some(heads) = heads else { return Pin::new(stream).poll_shutdown(cx) };
        if linger.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            if heads.lock().at_rest() {
                return Poll::Ready(Ok(()));
            }
        }
        linger.get_or_insert_with(Linger::new).poll(cx, stream, |arrived| {
            let mut heads = heads.lock();
            heads.feed(arrived);
            heads.at_rest()
        })
    }
}
