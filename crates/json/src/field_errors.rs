//! Field errors, and their message of bounded length.

use std::fmt;

/// The largest number of errors that the message about an animal names.
const MAX_NAMED: usize = 32;
/// The largest number of characters of a field name in a message. A longer name is cut.
const MAX_NAME_CHARS: usize = 40;

/// The field errors of one animal or of one query. The message is one line: it names the first `MAX` errors and counts
/// the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors<const MAX: usize = MAX_NAMED> {
    named: Vec<String>,
    /// The number of errors beyond `MAX`.
    unnamed: usize,
}

impl<const MAX: usize> FieldErrors<MAX> {
    /// Returns whether there is no error.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Adds an error of the field `name`. `name` may be any text of a client.
    pub fn add(&mut self, name: &str, error: &str) {
        if self.named.len() < MAX {
            self.named.push(format!("`{}`: {error}", shortened(name)));
        } else {
            self.unnamed += 1;
        }
    }
}

impl<const MAX: usize> fmt::Display for FieldErrors<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named.join("; "))?;
        if self.unnamed > 0 { write!(f, "; and {} more", self.unnamed) } else { Ok(()) }
    }
}

/// Returns the beginning of a field name for a message. Control characters are escaped.
fn shortened(name: &str) -> String {
    let end = if name.chars().nth(MAX_NAME_CHARS).is_some() { "…" } else { "" };
    let start = name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug);
    start.chain(end.chars()).collect()
}
