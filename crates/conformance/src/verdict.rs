//! What became of one promise.

use std::fmt;

use crate::{broken::Broken, harness::Capability};

/// What became of one promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was kept.
    Kept,
    /// It was broken, and how.
    Broken(Broken),
    /// It was not checked.
    NotChecked {
        /// What it needs.
        unsupported: Capability,
        /// Why the adapter, or the harness, does not support that.
        reason: &'static str,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Broken(broken) => write!(f, "broken: {broken}"),
            Self::NotChecked { unsupported, reason } => {
                write!(f, "not checked: it needs {unsupported}, and {reason}")
            }
        }
    }
}
