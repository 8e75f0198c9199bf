//! The failures of the program, and text that a message may quote.

use std::{error::Error, fmt, path::Path, process::ExitCode};

use petstore_domain::StoreError;

/// `EX_CONFIG` of sysexits.h: a restarted service would fail again.
const UNUSABLE: u8 = 78;

/// A failure. The variant decides the exit code, and the text is the message. Displayed as one line, because a message
/// may quote a line break.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", one_line_of(.0))]
pub(crate) enum Failure {
    /// The command line, the environment or the settings file is wrong: exit code 2.
    Usage(String),
    /// The command failed: exit code 1.
    Runtime(String),
    /// The store is unavailable, and a later attempt may succeed: exit code 1.
    Unreachable(String),
    /// The store cannot be served until somebody changes something: exit code 78.
    Unusable(String),
}

impl Failure {
    /// Creates the failure of a call to a store: `Unreachable` if the store is unavailable, otherwise `Runtime`.
    pub(crate) fn of_store(problem: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let problem = problem.into();
        match problem.downcast_ref() {
            Some(StoreError::Unavailable(cause)) => Self::Unreachable(cause.to_string()),
            Some(StoreError::Refused(reason)) => Self::runtime(reason),
            _ => Self::runtime(problem),
        }
    }

    pub(crate) fn usage(line: impl fmt::Display) -> Self {
        Self::Usage(line.to_string())
    }

    pub(crate) fn runtime(line: impl fmt::Display) -> Self {
        Self::Runtime(line.to_string())
    }

    /// Returns a function that turns a cause into a runtime failure: `context`, a colon and the cause.
    pub(crate) fn context<E: fmt::Display>(context: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self::runtime(format!("{context}: {cause}"))
    }

    /// Turns a runtime failure into the failure that the store cannot be served.
    pub(crate) fn of_unusable_store(self) -> Self {
        if let Self::Runtime(line) = self { Self::Unusable(line) } else { self }
    }

    /// Creates the failure that a bug has ended a task of the service.
    pub(crate) fn of_bug() -> Self {
        Self::runtime(
            "a bug has ended a task of the service, so the service has stopped; the log says where",
        )
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Runtime(_) | Self::Unreachable(_) => ExitCode::FAILURE,
            Self::Unusable(_) => ExitCode::from(UNUSABLE),
        }
    }
}

/// Returns `text` as one line for a message, or `…` if the text may contain a password. Examples are a URL, a
/// connection string or a line of a password file.
pub(crate) fn quotable(text: &str) -> String {
    let has = |word: &str| text.to_lowercase().contains(word);
    let may_hold_password = has("://")
        || (has("@") && has(":"))
        || (has("=") && text.contains(['&', ';', ' ', '?', '@']))
        || ["password", "passwd", "pwd="].into_iter().any(has)
        || text.matches(':').count() >= 4;
    if may_hold_password { "…".to_owned() } else { one_line_of(text) }
}

/// Returns `path` for a message, by [`quotable`]: a user may have given the URL of a store in place of a path.
pub(crate) fn quotable_path(path: &Path) -> String {
    quotable(&path.display().to_string())
}

/// Returns a number with its noun: `1 animal`, `2 animals`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns `text` with escaped control characters.
pub(crate) fn one_line_of(text: &str) -> String {
    let escaped =
        |it: char| if it.is_control() { it.escape_default().to_string() } else { it.into() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use petstore_domain::StoreError;

    use super::{Failure, quotable};

    #[test]
    fn a_text_that_may_hold_a_password_is_not_quoted() {
        for text in ["zoo.db", "me@db", "db:5432:zoo:me", "a=b", "/a b"] {
            assert_eq!(quotable(text), text);
        }
        for text in [
            "postgres://db/zoo",
            "me:secret@db",
            "db:5432:zoo:me:secret",
            "host=db user=me",
            "a=b&c",
            "a=b;c",
            "a=b?c",
            "a=b@c",
            "PGPASSWORD",
            "a.passwd",
            "Pwd=x",
        ] {
            assert_eq!(quotable(text), "…", "{text}");
        }
    }

    #[test]
    fn a_failure_is_one_line_with_the_reason_alone() {
        let failure = Failure::of_store(StoreError::refused("no identifier is left"));
        assert_eq!(failure.to_string(), "no identifier is left");
        let failure = Failure::runtime("no such file: 'a\nb\u{1b}[31m\u{85}é'");
        assert_eq!(failure.to_string(), "no such file: 'a\\nb\\u{1b}[31m\\u{85}é'");
    }
}
