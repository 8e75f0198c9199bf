//! The bytes of one connection: a TCP stream that gives up on a client who takes nothing, keeps
//! note of HTTP/1 heads, and closes so that the last answer can be read.

use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{head_deadline::HeadDeadline, heads::Heads, linger::Linger};
use crate::alarm::Alarm;

/// An answer of so many bytes is copied together, head and body: that costs less than what the
/// kernel does to take two pieces in place of one.
const SMALL: usize = 4096;

/// The requests of a connection, seen by its transport and by its service.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    heads: Mutex<Heads>,
    begun: AtomicUsize,
    answered: AtomicUsize,
    alarm: Alarm,
}

impl Requests {
    pub(super) fn heads(&self) -> MutexGuard<'_, Heads> {
        self.0.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the heads, bodies and requests of the connection, which is one task.
    pub(super) fn alarm(&self) -> &Alarm {
        &self.0.alarm
    }

    /// A head has arrived; the time for the next one begins when the request is answered.
    pub(super) fn begin(&self) {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests there were, if all of them are answered, so that a head is awaited.
    fn before_the_next(&self) -> Option<usize> {
        let begun = self.0.begun.load(Ordering::Relaxed);
        (self.0.answered.load(Ordering::Relaxed) == begun).then_some(begun)
    }
}

#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    /// In HTTP/1 only; HTTP/2 knows frames.
    requests: Option<(Requests, HeadDeadline)>,
    write_timeout: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

impl Transport {
    pub(super) fn new(stream: TcpStream, write_timeout: Duration) -> Self {
        Self { stream, requests: None, write_timeout, stalled: None, linger: None }
    }

    /// Keeps note of the heads that arrive, and fails when one takes longer than `header_timeout`.
    pub(super) fn awaiting(self, requests: Requests, header_timeout: Duration) -> Self {
        Self { requests: Some((requests, HeadDeadline::new(header_timeout))), ..self }
    }

    /// Whether a head did not arrive in time.
    pub(super) fn is_late(&self) -> bool {
        self.requests.as_ref().is_some_and(|(_, deadline)| deadline.has_passed())
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
        let arrived = Pin::new(&mut self.stream).poll_read(cx, buffer)?;
        let Some((requests, deadline)) = &mut self.requests else { return arrived.map(Ok) };
        if arrived.is_ready() {
            requests.heads().feed(&buffer.filled()[before..]);
            return Poll::Ready(Ok(()));
        }
        let Some(before) = requests.before_the_next() else { return Poll::Pending };
        ready!(deadline.poll(cx, requests.alarm(), before));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "no head arrived in time")))
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
        let stream = Pin::new(&mut self.stream);
        let length: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let written = if length <= SMALL {
            let mut place = [MaybeUninit::uninit(); SMALL];
            let mut together = ReadBuf::uninit(&mut place);
            for buffer in buffers {
                together.put_slice(buffer);
            }
            stream.poll_write(cx, together.filled())
        } else {
            stream.poll_write_vectored(cx, buffers)
        };
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
        let Self { stream, requests, linger, .. } = &mut *self;
        let Some((requests, _)) = requests else { return Pin::new(stream).poll_shutdown(cx) };
        if linger.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            if requests.heads().at_rest() {
                return Poll::Ready(Ok(()));
            }
        }
        linger.get_or_insert_with(Linger::new).poll(cx, stream, |arrived| {
            let mut heads = requests.heads();
            heads.feed(arrived);
            heads.at_rest()
        })
    }
}
