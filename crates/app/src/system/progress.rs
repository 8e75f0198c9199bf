//! How far a long command has come: one line that is written anew on a terminal, a line now and then elsewhere.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use rustix::termios::tcgetwinsize;

/// How often the line is written on a terminal, and how often a line elsewhere.
const INTERVALS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// Begins the line of a terminal anew, and empties it.
const ANEW: &str = "\r\u{1b}[K";

/// Shows on stderr how far a command has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The unit of the count, for example `animals`, and the words before the number.
    unit: &'static str,
    of: &'static str,
    is_terminal: bool,
    /// The name of the step, for example `copying`.
    step: &'static str,
    /// When the step began, and with how many done: they do not count as its speed.
    began: (Instant, u64),
    last_line: Instant,
}

impl Progress {
    /// Counts what `unit` says.
    pub(crate) fn of(unit: &'static str) -> Self {
        let is_dumb = env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
        let (now, is_terminal) = (Instant::now(), io::stderr().is_terminal() && !is_dumb);
        Self { unit, of: "of", is_terminal, step: "", began: (now, 0), last_line: now }
    }

    /// Shows the same, where it is an estimate how many there are.
    pub(crate) fn of_about(unit: &'static str) -> Self {
        Self { of: "of about", ..Self::of(unit) }
    }

    /// Notes that `done` of `total` are done; 0 if that is not known.
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
            write(&format!("{ANEW}{shown}"));
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

    use super::Progress;

    #[test]
    fn the_rate_counts_only_what_was_done_now() {
        let mut resumed = Progress::of("animals");
        resumed.at("comparing", 700, 1_000);
        resumed.at("copying", 700, 1_000);
        let line = |done, seconds| resumed.line(done, 1_000, Duration::from_secs(seconds));
        assert_eq!(line(700, 0), "copying: 700 of 1000 animals, 0/s");
        assert_eq!(line(800, 10), "copying: 800 of 1000 animals, 10/s, 20s left");
        assert_eq!(line(1_000, 10), "copying: 1000 of 1000 animals, 30/s");
    }

    #[test]
    fn what_nobody_knows_is_left_out() {
        let mut progress = Progress::of_about("animals");
        progress.at("reading", 0, 0);
        let second = Duration::from_secs(1);
        assert_eq!(progress.line(50, 0, second), "reading: 50 animals, 50/s");
        assert_eq!(progress.line(7, 3, second), "reading: 7 of about 3 animals, 7/s");
    }
}
