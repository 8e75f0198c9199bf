//! The queue of lines between the program and the reader of the log.

use std::{
    io::{self, Write},
    sync::mpsc::{self, Receiver, SyncSender, TrySendError},
    thread::{self, sleep},
    time::{Duration, Instant},
};

/// How long the end of the program waits for the last lines.
pub(super) const LAST_LINES: Duration = Duration::from_secs(1);
/// How long it waits before it asks again where the queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// What is queued.
enum Entry {
    Line(Vec<u8>),
    /// Asks for an answer once every line before it is written.
    Flush(SyncSender<()>),
}

/// The running log. Dropping it waits until what is queued is written, as far as that happens within
/// [`LAST_LINES`]. If it does not, the log has no reader, and its thread ends with the process.
#[derive(Debug)]
pub(crate) struct Log(Lines);

/// Takes lines into the queue. One that finds it full is dropped.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    queue: SyncSender<Entry>,
    /// Put in the place of the brace with which a line of JSON begins.
    beginning: Option<String>,
}

impl Lines {
    /// Adds the member `environment` to each line, which is a JSON object.
    pub(super) fn with_environment(self, name: &str) -> Self {
        // Control characters, the third thing that JSON escapes, cannot be in a name.
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        Self { beginning: Some(format!("{{\"environment\":\"{name}\",")), ..self }
    }
}

impl Log {
    /// Starts the thread that writes.
    pub(super) fn new(
        writer: impl Write + Send + 'static,
        queued_lines: usize,
    ) -> io::Result<(Self, Lines)> {
        let (queue, entries) = mpsc::sync_channel(queued_lines);
        let lines = Lines { queue, beginning: None };
        thread::Builder::new()
            .name("petstore-log".to_owned())
            .spawn(move || write_all(writer, &entries))?;
        Ok((Self(lines.clone()), lines))
    }
}

/// Writes until nobody can queue a line any more. A failure has no other place to be reported.
fn write_all(mut writer: impl Write, entries: &Receiver<Entry>) {
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                let _ = writer.write_all(&line);
            }
            Entry::Flush(done) => {
                let _ = writer.flush();
                let _ = done.send(());
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_LINES;
        let (done, written) = mpsc::sync_channel(1);
        let mut entry = Entry::Flush(done);
        while let Err(TrySendError::Full(back)) = self.0.queue.try_send(entry)
            && Instant::now() < deadline
        {
            entry = back;
            sleep(RETRY_INTERVAL);
        }
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl Write for Lines {
    /// Takes a whole line, queued or not, so that it is not written again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let entry = match (&self.beginning, line.strip_prefix(b"{")) {
            (Some(beginning), Some(rest)) => [beginning.as_bytes(), rest].concat(),
            _ => line.to_owned(),
        };
        let _ = self.queue.try_send(Entry::Line(entry));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
