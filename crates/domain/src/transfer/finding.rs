//! What an examination of a store has found.

/// One thing that was examined, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was examined, in a word or two: for example `durability`.
    pub subject: String,
    /// Whether anything is to be done.
    pub severity: Severity,
    /// One line: what is so, or what is wrong and how to mend it.
    pub detail: String,
}

/// Whether a [`Finding`] needs anybody to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is as it should be.
    Good,
    /// It works, but an operator should know.
    Warning,
    /// Something is broken.
    Fault,
}

impl Finding {
    /// Says that all is as it should be.
    #[must_use]
    pub fn good(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Good, detail)
    }

    /// Says that it works, but an operator should know.
    #[must_use]
    pub fn warning(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Warning, detail)
    }

    /// Says that something is broken.
    #[must_use]
    pub fn fault(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Fault, detail)
    }

    fn new(subject: &str, severity: Severity, detail: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), severity, detail: detail.into() }
    }
}
