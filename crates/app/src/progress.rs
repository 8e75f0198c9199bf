//! How far a long command has come: a bar on a terminal, a line now and then elsewhere.

use std::{
    fmt,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// How often a line is written where there is no terminal for a bar.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// The bar takes what the rest of the line leaves of the terminal; without it, the line of a million
/// animals has 43 columns.
const BAR: &str = "{msg} [{wide_bar}] {pos}/{len} {rate} {eta}";
/// Where the number is not known.
const COUNT: &str = "{msg}: {pos} {prefix}, {rate}";

/// Shows on stderr how far a command has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Draws nothing where stderr is no terminal.
    bar: ProgressBar,
    /// What is being done, for example `copying`.
    step: &'static str,
    /// What is counted, for example `animals`.
    unit: &'static str,
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
        Self::with_bar(ProgressBar::no_length(), unit)
    }

    fn with_bar(bar: ProgressBar, unit: &'static str) -> Self {
        Self { bar, step: "", unit, last_line: Instant::now() }
    }

    /// Notes that `done` of `of` are done.
    pub(crate) fn at(&mut self, step: &'static str, done: u64, of: Of) {
        if self.step != step {
            self.begin(step, done, of);
        }
        match of {
            Of::Exactly(total) | Of::About(total) => self.bar.set_length(total),
            Of::Unknown => self.bar.unset_length(),
        }
        self.bar.set_position(done);
        if self.bar.is_hidden() && self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            self.note(&self.line(of));
        }
    }

    /// What was done before the step began does not count as its speed.
    fn begin(&mut self, step: &'static str, done: u64, of: Of) {
        self.step = step;
        let template = if matches!(of, Of::Unknown) { COUNT } else { BAR };
        if let Some(style) = style(template) {
            self.bar.set_style(style);
        }
        self.bar.set_prefix(self.unit);
        self.bar.set_message(step);
        self.bar.set_position(done);
        self.bar.tick();
        self.bar.reset_eta();
    }

    fn line(&self, of: Of) -> String {
        let (step, done, rate) = (self.step, self.bar.position(), self.bar.per_sec());
        let of = match of {
            Of::Exactly(of) => format!(" of {of}"),
            Of::About(of) => format!(" of about {of}"),
            Of::Unknown => String::new(),
        };
        let left = match self.bar.eta() {
            Duration::ZERO => String::new(),
            left => format!(", {} left", HumanDuration(left)),
        };
        let unit = self.unit;
        format!("{step}: {done}{of} {unit}, {rate:.0}/s{left}")
    }

    /// Writes a line to stderr, above the bar. If that fails there is no other place to report it.
    pub(crate) fn note(&self, line: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "{line}");
        });
    }
}

/// `None` if the template is not well formed.
fn style(template: &str) -> Option<ProgressStyle> {
    let rate = |state: &ProgressState, line: &mut dyn fmt::Write| {
        // The one who draws the line has nowhere to report a failure.
        let _ = write!(line, "{:.0}/s", state.per_sec());
    };
    let style = ProgressStyle::with_template(template).ok()?;
    Some(style.progress_chars("##·").with_key("rate", rate))
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use indicatif::ProgressBar;

    use super::{BAR, COUNT, Of, Progress, style};

    fn progress() -> Progress {
        Progress::with_bar(ProgressBar::hidden(), "animals")
    }

    #[test]
    fn the_rate_counts_only_what_was_done_now() {
        let mut resumed = progress();
        resumed.at("comparing", 700, Of::Exactly(1_000));
        resumed.at("copying", 700, Of::Exactly(1_000));
        assert_eq!(resumed.line(Of::Exactly(1_000)), "copying: 700 of 1000 animals, 0/s");
        thread::sleep(Duration::from_millis(20));
        resumed.at("copying", 800, Of::Exactly(1_000));
        let line = resumed.line(Of::Exactly(1_000));
        assert!(line.starts_with("copying: 800 of 1000 animals, "), "{line}");
        assert!(resumed.bar.per_sec() > 0.0 && line.ends_with(" left"), "{line}");
    }

    #[test]
    fn what_nobody_knows_is_left_out() {
        let mut progress = progress();
        progress.at("reading", 50, Of::Unknown);
        assert_eq!(progress.line(Of::Unknown), "reading: 50 animals, 0/s");
        progress.at("importing", 7, Of::About(3));
        assert_eq!(progress.line(Of::About(3)), "importing: 7 of about 3 animals, 0/s");
    }

    #[test]
    fn the_forms_of_the_bar_are_well_formed() {
        for template in [BAR, COUNT] {
            style(template).unwrap();
        }
    }
}
