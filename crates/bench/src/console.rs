//! Output: results on stdout, progress on stderr.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes a line of the result. Ignores a closed stdout.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Writes a line of progress.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
