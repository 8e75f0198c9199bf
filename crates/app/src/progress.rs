//! How far a long command has come: a bar on a terminal, a line now and then elsewhere.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

/// How often a bar moves.
const BAR_EVERY: Duration = Duration::from_millis(100);
/// How often a line is written where nobody can wipe one out.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// How wide the bar is, in columns; the whole line fits in 80.
const BAR_WIDTH: u64 = 24;

/// Tells on stderr how far a command has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// What is being done, for example `copying`.
    step: &'static str,
    /// When the step began, and what was done by then.
    began: Option<(Instant, u64)>,
    told: Instant,
    terminal: bool,
    /// Whether a bar stands on the terminal's last line.
    drawn: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { step: "", began: None, told: Instant::now(), terminal, drawn: false }
    }

    /// Notes that `done` of `of` animals are done.
    pub(crate) fn at(&mut self, step: &'static str, done: u64, of: Of) {
        let now = Instant::now();
        if self.step != step {
            self.step = step;
            self.began = None;
        }
        let (began, before) = *self.began.get_or_insert((now, done));
        let every = if self.terminal { BAR_EVERY } else { LINE_EVERY };
        if now - self.told < every {
            return;
        }
        self.told = now;
        let state = State { done, of, fresh: done.saturating_sub(before), elapsed: now - began };
        if self.terminal {
            let _ = write!(io::stderr().lock(), "\r{}\u{1b}[K", state.bar(step));
            self.drawn = true;
        } else {
            self.note(&state.line(step));
        }
    }

    /// Writes a line to stderr, in place of the bar. If that fails there is nobody left to tell.
    pub(crate) fn note(&mut self, line: &str) {
        self.wipe();
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Wipes the bar out.
    pub(crate) fn wipe(&mut self) {
        if self.drawn {
            self.drawn = false;
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// How many animals there are to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Exactly(u64),
    About(u64),
    Unknown,
}

/// A step at one moment.
struct State {
    done: u64,
    of: Of,
    /// Done since the step began; the rest was there before.
    fresh: u64,
    elapsed: Duration,
}

impl State {
    fn line(&self, step: &str) -> String {
        let Self { done, of, .. } = self;
        let of = match of {
            Of::Exactly(of) => format!(" of {of}"),
            Of::About(of) => format!(" of about {of}"),
            Of::Unknown => String::new(),
        };
        let left = self.left().map_or_else(String::new, |left| format!(", {left} left"));
        format!("{step}: {done}{of} animals, {}/s{left}", self.rate())
    }

    fn bar(&self, step: &str) -> String {
        let done = self.done;
        let Some(of) = self.total().filter(|of| *of > 0) else { return self.line(step) };
        let full = u128::from(done.min(of)) * u128::from(BAR_WIDTH) / u128::from(of);
        let full = usize::try_from(full).unwrap_or_default();
        let empty = usize::try_from(BAR_WIDTH).unwrap_or_default() - full;
        let bar = format!("{}{}", "#".repeat(full), "·".repeat(empty));
        let left = self.left().unwrap_or_default();
        format!("{step} [{bar}] {done}/{of} {}/s {left}", self.rate())
    }

    fn total(&self) -> Option<u64> {
        match self.of {
            Of::Exactly(of) | Of::About(of) => Some(of),
            Of::Unknown => None,
        }
    }

    /// Animals a second since the step began.
    fn rate(&self) -> u128 {
        u128::from(self.fresh) * 1000 / self.elapsed.as_millis().max(1)
    }

    /// The time left if it goes on like this.
    fn left(&self) -> Option<String> {
        let rest = u128::from(self.total()?.saturating_sub(self.done));
        let seconds = rest.checked_div(self.rate())?;
        let seconds = Duration::from_secs(u64::try_from(seconds).ok()?);
        Some(humantime::format_duration(seconds).to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Of, State};

    fn state(done: u64, of: Of, fresh: u64) -> State {
        State { done, of, fresh, elapsed: Duration::from_secs(10) }
    }

    #[test]
    fn the_rate_counts_only_what_was_done_now() {
        let resumed = state(700, Of::Exactly(1_000), 100);
        assert_eq!(resumed.line("copying"), "copying: 700 of 1000 animals, 10/s, 30s left");
        let bar = "copying [################········] 700/1000 10/s 30s";
        assert_eq!(resumed.bar("copying"), bar);
    }

    #[test]
    fn what_nobody_knows_is_left_out() {
        assert_eq!(state(50, Of::Unknown, 50).line("reading"), "reading: 50 animals, 5/s");
        assert_eq!(state(50, Of::Unknown, 50).bar("reading"), "reading: 50 animals, 5/s");
        assert_eq!(
            state(0, Of::About(10), 0).line("copying"),
            "copying: 0 of about 10 animals, 0/s"
        );
    }

    #[test]
    fn a_bar_fits_its_line_whatever_the_numbers() {
        let most = state(u64::MAX / 2, Of::Exactly(u64::MAX), 3);
        assert!(most.bar("comparing").chars().count() < 160);
        assert!(
            state(1_000_000_000, Of::Exactly(1_000_000_000), 9).bar("comparing").chars().count()
                < 80
        );
        assert!(state(7, Of::About(3), 7).bar("reading").contains("########] 7/3"));
    }
}
