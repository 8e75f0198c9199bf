//! An error with its causes.

use std::error::Error;

/// The error with all of its causes, in one line.
pub(crate) fn in_full(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line.replace('\n', " ")
}
