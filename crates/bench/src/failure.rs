//! Why the benchmark stopped, in words for whoever runs it.

use std::fmt::{self, Display};

/// One sentence: what was wrong, and where it can be said, what would be right.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// What can fail with a sentence.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was being done when an error came.
pub(crate) trait Context<T> {
    /// `doing` completes the sentence "cannot …".
    fn cannot(self, doing: impl Display) -> Outcome<T>;
}

impl<T, E: Display> Context<T> for Result<T, E> {
    fn cannot(self, doing: impl Display) -> Outcome<T> {
        self.map_err(|error| Failure(format!("cannot {doing}: {error}")))
    }
}
