//! The queue of lines between the program and whoever reads the log.

use std::{
    io::{self, Write},
    mem,
    sync::mpsc,
    time::{Duration, Instant},
};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// How long the end of the program waits for the last lines.
pub(super) const LAST_LINES: Duration = Duration::from_secs(1);
/// How long it waits for a mark before it sends another: the queue may have been full.
const NEXT_MARK: Duration = Duration::from_millis(10);
/// Queued like a line, but not written.
const MARK: &[u8] = b"";

/// The running log; writes what is queued when it is dropped, as far as stderr takes it within
/// [`LAST_LINES`].
#[derive(Debug)]
pub(crate) struct Log {
    queue: NonBlocking,
    guard: Option<WorkerGuard>,
    marks: mpsc::Receiver<()>,
}

impl Log {
    pub(super) fn over(
        writer: impl Write + Send + 'static,
        queued_lines: usize,
    ) -> (Self, NonBlocking) {
        let (mark, marks) = mpsc::channel();
        let (queue, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(queued_lines)
            .lossy(true)
            .thread_name("petstore-log")
            .finish(Unfailing { writer, mark });
        (Self { queue: queue.clone(), guard: Some(guard), marks }, queue)
    }

    /// Whether all that is queued was written in time: a mark has come through behind it.
    fn is_written(&mut self) -> bool {
        let deadline = Instant::now() + LAST_LINES;
        while Instant::now() < deadline {
            let _ = self.queue.write_all(MARK);
            if self.marks.recv_timeout(NEXT_MARK).is_ok() {
                return true;
            }
        }
        false
    }
}

impl Drop for Log {
    /// The guard of tracing-appender 0.2.5 ends the thread. It would wait for the last line too,
    /// but if the queue is full it says so by `println!`: on stdout, where answers go, and with a
    /// panic if that is closed. So it is let go only when the queue is empty; otherwise nobody
    /// reads, and the thread ends with the process.
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

/// A writer whose failures nobody hears of: the log has no other place to complain, and the thread
/// of tracing-appender would do so by `eprintln!`, which panics.
#[derive(Debug)]
struct Unfailing<W> {
    writer: W,
    /// Told of every [`MARK`].
    mark: mpsc::Sender<()>,
}

impl<W: Write> Write for Unfailing<W> {
    /// Takes a whole line, written or not, so that nobody tries again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if line == MARK {
            let _ = self.mark.send(());
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
