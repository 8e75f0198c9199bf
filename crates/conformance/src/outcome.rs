//! The outcome of checking one promise.

use std::fmt;

use crate::{failure::Failure, harness::Capability};

/// The outcome of checking one promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The promise was kept.
    Kept,
    /// The promise was broken.
    Broken(Failure),
    /// The promise was not checked.
    NotChecked {
        /// The capability that the promise needs.
        unsupported: Capability,
        /// The reason why the adapter, or the harness, does not support the capability.
        reason: &'static str,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Broken(failure) => write!(f, "broken: {failure}"),
            Self::NotChecked { unsupported, reason } => {
                write!(f, "not checked: it needs {unsupported:?}, and {reason}")
            }
        }
    }
}
