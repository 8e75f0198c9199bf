//! The bad lines of a file, as people are shown them.

use crate::{failure::one_line_of, progress::Progress};

/// Bad lines that are shown; the rest are counted.
const MAX_SHOWN: u64 = 100;
/// The longest reason that is shown, in characters.
const MAX_REASON_CHARS: usize = 400;

/// What is wrong with one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) reason: String,
}

/// Shows bad lines and counts them.
#[derive(Debug, Default)]
pub(super) struct Faults {
    count: u64,
}

impl Faults {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn report(&mut self, faults: &[Fault], progress: &mut Progress) {
        for Fault { line, reason } in faults {
            if self.count < MAX_SHOWN {
                let reason: String = one_line_of(reason).chars().take(MAX_REASON_CHARS).collect();
                progress.note(&format!("line {line}: {reason}"));
            }
            self.count += 1;
        }
    }

    /// Says how many bad lines were not shown.
    pub(super) fn report_rest(&self, progress: &mut Progress) {
        if self.count > MAX_SHOWN {
            progress.note(&format!("and {} more bad lines", self.count - MAX_SHOWN));
        }
    }
}
