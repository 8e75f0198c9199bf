//! The form of store errors for the log and for callers.

use std::{error::Error, iter};

use petstore_domain::StoreError;

use crate::tls::in_words;

/// Returns the messages of an error and all its causes in one line.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let errors = iter::successors(Some(error), |&error| error.source());
    let messages: Vec<_> = errors.map(ToString::to_string).collect();
    in_words(&messages.join(": ").replace('\n', " "))
}

/// Makes the error of a store that could not be opened. `may_pass` means that the error can disappear without a change
/// by the operator, for example if a server cannot be reached. The result is then [`StoreError::Unavailable`], and
/// `serve` waits for the store. Otherwise, the result is [`StoreError::Refused`], and `serve` ends.
pub fn opening_error(error: impl Error + Send + Sync + 'static, may_pass: bool) -> StoreError {
    if may_pass { StoreError::unavailable(error) } else { StoreError::refused(error) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::error_chain;

    #[derive(Debug, thiserror::Error)]
    #[error("no\nanswer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_chain_is_one_line_in_words() {
        for (cause, words) in [
            ("UnknownIssuer", "UnknownIssuer, no authority that is trusted"),
            (
                "Other(OtherError(CaUsedAsEndEntity))",
                "it is the certificate of an authority itself",
            ),
        ] {
            let inner = Outer(io::Error::other(format!("broken: {cause}")));
            let chain = error_chain(&Outer(io::Error::other(inner)));
            let expected = format!("no answer: no answer: broken: {words}");
            assert!(chain.starts_with(&expected), "{chain}");
            assert!(chain.ends_with(" with sslrootcert"), "{chain}");
        }
    }
}
