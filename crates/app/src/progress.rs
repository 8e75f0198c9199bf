//! How far a long command has come: one line that is written anew on a terminal, a line now and then elsewhere.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use petstore_transfer::{TransferProgress, TransferStep};
use rustix::termios::tcgetwinsize;

use crate::signals::Signals;

/// How often the line is written on a terminal, and how often a line elsewhere.
const INTERVALS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// Begins the line of a terminal anew, and empties it.
const ANEW: &str = "\r\u{1b}[K";

/// Shows on stderr how far a command has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// What is counted, for example `animals`.
    unit: &'static str,
    is_terminal: bool,
    /// What is being done, for example `copying`.
    step: &'static str,
    /// When the step began, and with how many done: they do not count as its speed.
    began: (Instant, u64),
    last_line: Instant,
}

/// How many there are to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Exactly(u64),
    About(u64),
    Unknown,
}

impl Progress {
    /// Counts animals.
    pub(crate) fn new() -> Self {
        Self::counting("animals")
    }

    /// Counts what `unit` says.
    pub(crate) fn counting(unit: &'static str) -> Self {
        let is_dumb = env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
        let (now, is_terminal) = (Instant::now(), io::stderr().is_terminal() && !is_dumb);
        Self { unit, is_terminal, step: "", began: (now, 0), last_line: now }
    }

    /// Shows how far a copy or a verification is, and answers whether to go on: not when a signal has asked for a
    /// stop.
    pub(crate) fn watch(&mut self, state: TransferProgress, signals: &Signals) -> ControlFlow<()> {
        let TransferProgress { step, done, total } = state;
        let of = if total == 0 { Of::Unknown } else { Of::Exactly(total) };
        match step {
            TransferStep::ComparePets => self.at("comparing", done, of),
            TransferStep::CopyPets => self.at("copying", done, of),
            TransferStep::CopyRecords => {}
        }
        if signals.stop_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Notes that `done` of `of` are done.
    pub(crate) fn at(&mut self, step: &'static str, done: u64, of: Of) {
        let now = Instant::now();
        let is_new = self.step != step;
        if is_new {
            (self.step, self.began) = (step, (now, done));
        }
        let is_due = now - self.last_line >= INTERVALS[usize::from(!self.is_terminal)];
        if !(is_due || is_new && self.is_terminal) {
            return;
        }
        self.last_line = now;
        let line = self.line(done, of, now - self.began.0);
        if self.is_terminal {
            let width = tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col));
            let shown: String = line.chars().take(width.saturating_sub(1)).collect();
            write(&format!("{ANEW}{shown}"));
        } else {
            write(&format!("{line}\n"));
        }
    }

    fn line(&self, done: u64, of: Of, took: Duration) -> String {
        let Self { unit, step, began: (_, before), .. } = self;
        let done_now = u128::from(done.saturating_sub(*before));
        let rate = done_now * 1_000 / took.as_millis().max(1);
        let (of, total) = match of {
            Of::Exactly(total) => (format!(" of {total}"), total),
            Of::About(total) => (format!(" of about {total}"), total),
            Of::Unknown => (String::new(), 0),
        };
        let seconds = u128::from(total.saturating_sub(done)).checked_div(rate);
        let left = match seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
            None | Some(0) => String::new(),
            Some(left) => {
                format!(", {} left", humantime::format_duration(Duration::from_secs(left)))
            }
        };
        format!("{step}: {done}{of} {unit}, {rate}/s{left}")
    }

    /// Writes a line to stderr, in the place of that of the progress.
    pub(crate) fn note(&self, line: &str) {
        write(&format!("{}{line}\n", if self.is_terminal { ANEW } else { "" }));
    }
}

/// Writes to stderr. If that fails there is no other place to report it.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            write(ANEW);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Of, Progress};

    #[test]
    fn the_rate_counts_only_what_was_done_now() {
        let mut resumed = Progress::new();
        resumed.at("comparing", 700, Of::Exactly(1_000));
        resumed.at("copying", 700, Of::Exactly(1_000));
        let line =
            |done, seconds| resumed.line(done, Of::Exactly(1_000), Duration::from_secs(seconds));
        assert_eq!(line(700, 0), "copying: 700 of 1000 animals, 0/s");
        assert_eq!(line(800, 10), "copying: 800 of 1000 animals, 10/s, 20s left");
        assert_eq!(line(1_000, 10), "copying: 1000 of 1000 animals, 30/s");
    }

    #[test]
    fn what_nobody_knows_is_left_out() {
        let mut progress = Progress::new();
        progress.at("reading", 0, Of::Unknown);
        let second = Duration::from_secs(1);
        assert_eq!(progress.line(50, Of::Unknown, second), "reading: 50 animals, 50/s");
        assert_eq!(progress.line(7, Of::About(3), second), "reading: 7 of about 3 animals, 7/s");
    }
}
