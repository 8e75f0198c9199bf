//! The form of store errors for the log and for callers.

use std::{error::Error, fmt::Write as _};

use petstore_domain::StoreError;

use crate::tls::in_words;

/// Returns the messages of an error and all its causes in one line.
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

/// Makes the error of a store that could not be opened. An error that `may_pass` without a change by the operator, such
/// as a server that cannot be reached, is [`StoreError::Unavailable`], and `serve` waits for the store. Another error is
/// [`StoreError::Refused`], and `serve` ends.
pub fn opening_error(error: impl Error + Send + Sync + 'static, may_pass: bool) -> StoreError {
    if may_pass { StoreError::unavailable(error) } else { StoreError::refused(error) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use petstore_domain::StoreError;

    use super::{error_chain, opening_error};

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Outer(&'static str, #[source] Option<Box<Outer>>);

    #[test]
    fn a_chain_is_one_line_with_remedies() {
        let chain = |inner| error_chain(&Outer("a", Some(Box::new(Outer("b\nc", inner)))));
        assert_eq!(chain(None), "a: b c");
        let unknown = chain(Some(Box::new(Outer("UnknownIssuer", None))));
        assert!(unknown.starts_with("a: b c: UnknownIssuer, no authority"), "{unknown}");
    }

    #[test]
    fn serve_waits_for_a_store_whose_error_may_pass() {
        let error = |may_pass| opening_error(io::Error::other("down"), may_pass);
        assert!(matches!(error(true), StoreError::Unavailable(_)));
        assert!(matches!(error(false), StoreError::Refused(_)));
    }
}
