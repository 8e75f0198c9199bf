//! The log: events as lines of text or JSON on stderr.
//!
//! Lines go into a bounded queue that a thread writes to stderr, so that no request waits for the reader of the log. A
//! full queue drops lines. The crate `tracing-appender` would add the crates `time` and `crossbeam-channel`.

#[cfg(test)]
pub(crate) mod tests;

use std::{
    env,
    io::{self, IsTerminal as _, Write},
    panic,
    sync::{
        Arc, Weak,
        mpsc::{self, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use tracing_subscriber::{
    Layer, Registry,
    filter::{ParseError, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::system::Failure;

/// The default filter. Leaves out hyper's warnings about slow clients, because no operator can act on them.
const DIRECTIVES: &str = "warn,hyper=error,petstore=info";
/// The largest number of queued lines. A line has a few hundred bytes.
const QUEUED_LINES: usize = 10_000;
/// The time limit for writing the last lines at the end of the program, and the interval between checks that they are
/// written.
const LAST_LINES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(1));

/// The format of a log line: for people, or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Parses the filter of events. An empty text means the default.
pub(crate) fn filter(directives: &str) -> Result<Targets, String> {
    let directives = if directives.is_empty() { DIRECTIVES } else { directives };
    directives.parse().map_err(|error: ParseError| {
        format!("{error}; use directives like 'info' or 'warn,petstore_http=debug'")
    })
}

/// Starts the log. Dropping the returned value waits for the remaining lines.
pub(crate) fn start(format: Option<LogFormat>, events: Option<Targets>) -> Result<Log, Failure> {
    let events = events.map_or_else(|| filter(""), Ok).map_err(Failure::runtime)?;
    let terminal = io::stderr().is_terminal();
    let json = format.map_or(!terminal, |format| format == LogFormat::Json);
    let colours = terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let cannot = "cannot start the log";
    let (log, lines) = Log::new(io::stderr(), QUEUED_LINES).map_err(Failure::context(cannot))?;
    tracing_subscriber::registry()
        .with(layer(lines, json, colours).with_filter(events))
        .try_init()
        .map_err(Failure::context(cannot))?;
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, cause = panic.payload_as_str(), "a bug: a task has panicked");
    }));
    Ok(log)
}

/// Returns the layer that writes events as JSON or as text.
fn layer(lines: Lines, json: bool, colours: bool) -> Box<dyn Layer<Registry> + Send + Sync> {
    // By default, the layer reports its own failures by `eprintln!`, which panics if stderr fails, too.
    let layer = fmt::layer().with_writer(move || lines.clone()).log_internal_errors(false);
    if json { layer.json().boxed() } else { layer.with_ansi(colours).boxed() }
}

/// The running log. Dropping the value waits until the queued lines are written, within [`LAST_LINES`].
///
/// Each line that is queued or being written has a clone of the `Arc`.
#[derive(Debug)]
pub(crate) struct Log(Arc<()>);

/// Queues lines. Drops a line if the queue is full.
#[derive(Clone, Debug)]
struct Lines {
    queue: SyncSender<(Vec<u8>, Option<Arc<()>>)>,
    log: Weak<()>,
}

impl Log {
    /// Starts the thread that writes, which ends with the last clone of the returned `Lines`.
    fn new(
        mut writer: impl Write + Send + 'static,
        queued_lines: usize,
    ) -> io::Result<(Self, Lines)> {
        let (queue, queued) = mpsc::sync_channel(queued_lines);
        let log = Arc::default();
        let lines = Lines { queue, log: Arc::downgrade(&log) };
        thread::Builder::new().name("petstore-log".to_owned()).spawn(move || {
            for (line, _waits) in queued {
                // A failure could only be reported on stderr.
                let _ = writer.write_all(&line);
            }
        })?;
        Ok((Self(log), lines))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let (end, (longest, interval)) = (Instant::now(), LAST_LINES);
        while Arc::strong_count(&self.0) > 1 && end.elapsed() < longest {
            thread::sleep(interval);
        }
    }
}

impl Write for Lines {
    /// Reports the line as written, also if it is dropped, so that the caller does not retry.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.queue.try_send((line.to_owned(), self.log.upgrade()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
