//! Output for people: results on stdout, progress on stderr.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes a line of the result. A reader that has gone away wants no more of it.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Tells what is going on.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
