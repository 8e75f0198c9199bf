//! Why the program ends without having done what it was asked.

use std::{error::Error, fmt, path::Path, process::ExitCode};

use petstore_domain::StoreError;

/// `EX_CONFIG` of sysexits.h: a service manager that starts the service again would see the same.
const UNUSABLE: u8 = 78;

/// One line for the user of the program, and the exit code that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the environment is wrong: exit code 2.
    Usage(String),
    /// The world is not as the command needs it: exit code 1.
    Runtime(String),
    /// The store does not answer, and may do so later: exit code 1.
    Unreachable(String),
    /// The store cannot be served until somebody changes something: exit code 78.
    Unusable(String),
}

impl Failure {
    /// Returns why a store cannot be opened or read.
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

    /// Returns the same as why the store cannot be served, unless the command line is at fault.
    pub(crate) fn of_unusable_store(self) -> Self {
        if let Self::Runtime(line) = self { Self::Unusable(line) } else { self }
    }

    /// Returns why the service ends by a bug.
    pub(crate) fn of_bug() -> Self {
        Self::runtime(
            "a task of the service has ended by a bug, so the service has stopped; the log says where",
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

impl fmt::Display for Failure {
    /// Always one line: what it quotes may hold anything, a line break too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(line)
        | Self::Runtime(line)
        | Self::Unreachable(line)
        | Self::Unusable(line)) = self;
        f.write_str(&one_line_of(line))
    }
}

/// Returns the text as a message may quote it: in one line, and `…` in its place where it may hold a password, as a
/// URL, a connection string and a line of a password file do.
pub(crate) fn quotable(text: &str) -> String {
    let has = |word: &str| text.to_lowercase().contains(word);
    let may_hold_password = has("://")
        || (has("@") && has(":"))
        || (has("=") && text.contains(['&', ';', ' ', '?', '@']))
        || ["password", "passwd", "pwd="].into_iter().any(has)
        || text.matches(':').count() >= 4;
    if may_hold_password { "…".to_owned() } else { one_line_of(text) }
}

/// Returns the path as a message may name it: it may be the URL of a store that was given in place of a path.
pub(crate) fn quotable_path(path: &Path) -> String {
    quotable(&path.display().to_string())
}

/// Returns a number with its noun: `1 animal`, `2 animals`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns the text with its control characters escaped.
pub(crate) fn one_line_of(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn a_failure_is_one_line_whatever_it_quotes() {
        let failure = Failure::runtime("no such file: 'a\nb\u{1b}[31m\u{85}é'");
        assert_eq!(failure.to_string(), "no such file: 'a\\nb\\u{1b}[31m\\u{85}é'");
    }
}
