//! The progress of a long command on stderr: one line that is rewritten on a terminal, a line every 5 s elsewhere.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use rustix::termios::tcgetwinsize;

/// The intervals between two lines, on a terminal and elsewhere.
const INTERVALS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// Returns to the start of the terminal's line, and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// Shows the progress of a command on stderr.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The unit of the count, for example `animals`.
    unit: &'static str,
    /// The words before the total.
    of: &'static str,
    is_terminal: bool,
    /// The name of the step, for example `copying`.
    step: &'static str,
    /// The time and the count at the start of the step. The rate excludes this count.
    began: (Instant, u64),
    last_line: Instant,
}

impl Progress {
    /// Creates a display that counts in `unit`.
    pub(crate) fn of(unit: &'static str) -> Self {
        let is_dumb = env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
        let (now, is_terminal) = (Instant::now(), io::stderr().is_terminal() && !is_dumb);
        Self { unit, of: "of", is_terminal, step: "", began: (now, 0), last_line: now }
    }

    /// Creates a display whose totals are estimates.
    pub(crate) fn of_about(unit: &'static str) -> Self {
        Self { of: "of about", ..Self::of(unit) }
    }

    /// Records that `done` of `total` are done. A `total` of 0 is unknown.
    pub(crate) fn at(&mut self, step: &'static str, done: u64, total: u64) {
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
        let line = self.line(done, total, now - self.began.0);
        if self.is_terminal {
            let width = tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col));
            let shown: String = line.chars().take(width.saturating_sub(1)).collect();
            write(&format!("{CLEAR}{shown}"));
        } else {
            write(&format!("{line}\n"));
        }
    }

    fn line(&self, done: u64, total: u64, took: Duration) -> String {
        let Self { unit, of, step, began: (_, before), .. } = self;
        let done_now = u128::from(done.saturating_sub(*before));
        let rate = done_now * 1_000 / took.as_millis().max(1);
        let of = if total == 0 { String::new() } else { format!(" {of} {total}") };
        let seconds = u128::from(total.saturating_sub(done)).checked_div(rate).unwrap_or(0);
        let left = match u64::try_from(seconds) {
            Err(_) | Ok(0) => String::new(),
            Ok(left) => {
                format!(", {} left", humantime::format_duration(Duration::from_secs(left)))
            }
        };
        format!("{step}: {done}{of} {unit}, {rate}/s{left}")
    }

    /// Writes a line to stderr, in place of the progress line of a terminal.
    pub(crate) fn note(&self, line: &str) {
        write(&format!("{}{line}\n", if self.is_terminal { CLEAR } else { "" }));
    }
}

/// Writes to stderr. Ignores failures, which could only be reported on stderr.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            write(CLEAR);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Progress;

    #[test]
    fn the_rate_leaves_out_the_count_at_the_start() {
        let mut resumed = Progress::of("animals");
        resumed.at("comparing", 700, 1_000);
        resumed.at("copying", 700, 1_000);
        let line = |done, seconds| resumed.line(done, 1_000, Duration::from_secs(seconds));
        assert_eq!(line(700, 0), "copying: 700 of 1000 animals, 0/s");
        assert_eq!(line(800, 10), "copying: 800 of 1000 animals, 10/s, 20s left");
        assert_eq!(line(1_000, 10), "copying: 1000 of 1000 animals, 30/s");
    }

    #[test]
    fn an_unknown_total_is_left_out() {
        let mut progress = Progress::of_about("animals");
        progress.at("reading", 0, 0);
        let second = Duration::from_secs(1);
        assert_eq!(progress.line(50, 0, second), "reading: 50 animals, 50/s");
        assert_eq!(progress.line(7, 3, second), "reading: 7 of about 3 animals, 7/s");
    }
}
