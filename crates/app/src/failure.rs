//! Why the program ends without having done what it was asked.

use std::{fmt, path::Path, process::ExitCode};

/// One line for the user of the program, and the exit code that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the environment is wrong: exit code 2.
    Usage(String),
    /// The world is not as the command needs it: exit code 1.
    Runtime(String),
}

impl Failure {
    pub(crate) fn usage(line: impl fmt::Display) -> Self {
        Self::Usage(line.to_string())
    }

    pub(crate) fn runtime(line: impl fmt::Display) -> Self {
        Self::Runtime(line.to_string())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Runtime(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    /// Always one line: what it quotes may hold anything, a line break too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(line) | Self::Runtime(line)) = self;
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
