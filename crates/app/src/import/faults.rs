//! What is wrong with the lines of a file.

use crate::{failure::one_line_of, progress::Progress};

/// Bad lines that are told in full; the rest is counted.
const MOST_TOLD: u64 = 100;
/// The longest reason, in characters: a line may quote a lot.
const LONGEST: usize = 400;

/// What is wrong with one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) reason: String,
}

/// The bad lines until now.
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
            if self.count < MOST_TOLD {
                let reason: String = one_line_of(reason).chars().take(LONGEST).collect();
                progress.note(&format!("line {line}: {reason}"));
            }
            self.count += 1;
        }
    }

    pub(super) fn sum_up(&self, progress: &mut Progress) {
        if self.count > MOST_TOLD {
            progress.note(&format!("and {} more bad lines", self.count - MOST_TOLD));
        }
    }
}
