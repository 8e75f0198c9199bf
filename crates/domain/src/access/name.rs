//! The rule for an API key's name.

use std::fmt;

/// The name of an API key: an ASCII letter, then up to 63 ASCII letters, digits, `.`, `_` or `-`. A name never looks
/// like an identifier, so a command can take either.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyName(String);

impl KeyName {
    /// The longest name, in characters.
    pub const MAX_CHARS: usize = 64;

    /// Parses a name.
    ///
    /// # Errors
    /// If `text` breaks the rule of [`KeyName`].
    pub fn parse(text: &str) -> Result<Self, InvalidKeyName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let well_formed = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(allowed)
            && text.len() <= Self::MAX_CHARS;
        if well_formed { Ok(Self(text.to_owned())) } else { Err(InvalidKeyName) }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The text is not a key's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key's name is an ASCII letter, then up to {} ASCII letters, digits, '.', '_' or '-'",
    KeyName::MAX_CHARS - 1
)]
pub struct InvalidKeyName;

#[cfg(test)]
mod tests {
    use super::KeyName;

    #[test]
    fn a_name_begins_with_a_letter_and_has_at_most_64_plain_characters() {
        let longest = "n".repeat(64);
        for text in ["a", "web-shop.v2_EU", &longest] {
            assert_eq!(KeyName::parse(text).unwrap().as_str(), text);
        }
        let too_long = "n".repeat(65);
        for text in ["", "1", "7up", "-x", ".x", "a b", "a\n", "café", &too_long] {
            let rule = KeyName::parse(text).unwrap_err().to_string();
            assert!(
                rule.starts_with("a key's name is an ASCII letter, then up to 63 ASCII"),
                "{rule}"
            );
        }
    }
}
