//! The queue of lines between the program and the reader of the log.

use std::{
    io::{self, Write},
    mem,
    sync::mpsc,
    time::{Duration, Instant},
};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// How long the end of the program waits for the last lines.
pub(super) const LAST_LINES: Duration = Duration::from_secs(1);
/// How long it waits for a flush marker before it sends another: the queue may have been full.
const MARKER_INTERVAL: Duration = Duration::from_millis(10);
/// Queued like a line, but not written.
const FLUSH_MARKER: &[u8] = b"";

/// The running log; writes what is queued when it is dropped, as far as stderr takes it within
/// [`LAST_LINES`].
#[derive(Debug)]
pub(crate) struct Log {
    queue: NonBlocking,
    guard: Option<WorkerGuard>,
    markers: mpsc::Receiver<()>,
}

impl Log {
    pub(super) fn new(
        writer: impl Write + Send + 'static,
        queued_lines: usize,
    ) -> (Self, NonBlocking) {
        let (notify, markers) = mpsc::channel();
        let (queue, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(queued_lines)
            .lossy(true)
            .thread_name("petstore-log")
            .finish(Unfailing { writer, notify });
        (Self { queue: queue.clone(), guard: Some(guard), markers }, queue)
    }

    /// Whether all that is queued was written in time: a marker behind it has been read.
    fn is_written(&mut self) -> bool {
        let deadline = Instant::now() + LAST_LINES;
        while Instant::now() < deadline {
            let _ = self.queue.write_all(FLUSH_MARKER);
            if self.markers.recv_timeout(MARKER_INTERVAL).is_ok() {
                return true;
            }
        }
        false
    }
}

impl Drop for Log {
    /// The guard of tracing-appender 0.2.5 ends the thread. It would wait for the last line too,
    /// but if the queue is full it says so by `println!`: on stdout, where answers go, and with a
    /// panic if that is closed. So it is dropped only when the queue is empty; otherwise the log has
    /// no reader, and the thread ends with the process.
    fn drop(&mut self) {
        let written = self.is_written();
        let guard = self.guard.take();
        if written {
            drop(guard);
        } else {
            mem::forget(guard);
        }
    }
}

/// A writer whose failures are ignored: there is no other place to report them, and the thread of
/// tracing-appender would do so by `eprintln!`, which panics.
#[derive(Debug)]
struct Unfailing<W> {
    writer: W,
    /// Notified of every [`FLUSH_MARKER`].
    notify: mpsc::Sender<()>,
}

impl<W: Write> Write for Unfailing<W> {
    /// Takes a whole line, written or not, so that it is not written again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if line == FLUSH_MARKER {
            let _ = self.notify.send(());
        } else {
            let _ = self.writer.write_all(line);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.writer.flush();
        Ok(())
    }
}
