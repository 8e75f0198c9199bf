//! What an API key may do.

/// What an API key may do. A store keeps it with the key. It also shows in the key's first characters, so
/// that people, and a release that does not know keys that only read, do not take them for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRights {
    /// Everything.
    Full,
    /// Only to read.
    ReadOnly,
}

impl KeyRights {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Full, Self::ReadOnly];

    /// Returns the first characters of a key with these rights.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Full => "pst_",
            Self::ReadOnly => "psr_",
        }
    }

    /// Returns the word for them, in stores and for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read-only",
        }
    }

    /// Returns the rights that [`as_str`](Self::as_str) calls so.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rights| rights.as_str() == word)
    }

    /// Returns the rights of a key that begins so, where nothing else says them. Whatever does not begin as a key
    /// with all rights may only read.
    #[must_use]
    pub fn of_prefix(text: &str) -> Self {
        if text.starts_with(Self::Full.prefix()) { Self::Full } else { Self::ReadOnly }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyRights;

    #[test]
    fn what_is_not_known_to_have_all_rights_may_only_read() {
        for (text, rights) in [
            ("pst_1234", KeyRights::Full),
            ("psr_1234", KeyRights::ReadOnly),
            ("", KeyRights::ReadOnly),
            ("pst", KeyRights::ReadOnly),
            ("PST_1234", KeyRights::ReadOnly),
            ("psx_1234", KeyRights::ReadOnly),
            (" pst_123", KeyRights::ReadOnly),
        ] {
            assert_eq!(KeyRights::of_prefix(text), rights, "{text:?}");
        }
    }

    #[test]
    fn each_has_a_word_of_its_own() {
        for rights in KeyRights::ALL {
            assert_eq!(KeyRights::parse(rights.as_str()), Some(rights));
        }
        for word in ["", "Full", "read", "read_only", "everything"] {
            assert_eq!(KeyRights::parse(word), None, "{word}");
        }
    }
}
