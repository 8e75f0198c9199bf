//! The progress of a long command: a line on stderr every 5 s.

use std::time::{Duration, Instant};

use crate::system::{Console, Output as _};

/// The shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// Shows the progress of a command on stderr.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The unit of the count, for example `animals`.
    unit: &'static str,
    last_line: Instant,
}

impl Progress {
    /// Creates a display that counts in `unit`. The first line follows after 5 s.
    pub(crate) fn of(unit: &'static str) -> Self {
        Self { unit, last_line: Instant::now() }
    }

    /// Shows that `done` of `total` are done in a step such as `copying`, if a line is due. A `total` of 0 is unknown.
    pub(crate) fn at(&mut self, step: &str, done: u64, total: u64) {
        if self.last_line.elapsed() >= INTERVAL {
            self.last_line = Instant::now();
            Console.note(&self.line(step, done, total));
        }
    }

    fn line(&self, step: &str, done: u64, total: u64) -> String {
        let of = if total == 0 { String::new() } else { format!(" of {total}") };
        format!("{step}: {done}{of} {}", self.unit)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Progress;

    #[test]
    fn a_line_is_followed_by_the_next_one_after_the_interval() {
        let last_line = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        let mut progress = Progress { unit: "animals", last_line };
        progress.at("copying", 1, 2);
        assert!(progress.last_line > last_line);
    }

    #[test]
    fn an_unknown_total_is_left_out() {
        let progress = Progress::of("animals");
        assert_eq!(progress.line("copying", 700, 1_000), "copying: 700 of 1000 animals");
        assert_eq!(progress.line("reading", 50, 0), "reading: 50 animals");
    }
}
