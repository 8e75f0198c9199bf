//! Errors of a store, as the log and a caller see them.

use std::{error::Error, fmt::Write as _};

use petstore_domain::StoreError;

use crate::tls::in_words;

/// Returns the message of an error with those of all its causes, in one line.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string never fails.
        let _ = write!(line, ": {error}");
        cause = error.source();
    }
    in_words(&line.replace('\n', " "))
}

/// Makes the error of a store that could not be opened. If opening `may_pass` later without a change by the operator,
/// as when no server can be reached, it is [`StoreError::Unavailable`], and `serve` waits for the store. Otherwise it is
/// [`StoreError::Refused`], and `serve` ends.
pub fn opening_error(error: impl Error + Send + Sync + 'static, may_pass: bool) -> StoreError {
    if may_pass { StoreError::unavailable(error) } else { StoreError::refused(error) }
}
